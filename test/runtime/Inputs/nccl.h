/* What the examples use of NCCL's header, for tests that link a stand-in which reports the calls. */

#ifndef NCCL_H
#define NCCL_H

#include <stddef.h>

typedef struct ncclComm *ncclComm_t;
typedef struct CUstream_st *cudaStream_t;
typedef enum { ncclSuccess = 0, ncclInvalidUsage = 5 } ncclResult_t;
typedef enum { ncclFloat = 7 } ncclDataType_t;

ncclResult_t ncclCommInitAll(ncclComm_t *communicators, int count, const int *devices);
ncclResult_t ncclCommDestroy(ncclComm_t communicator);
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);
ncclResult_t ncclAllGather(const void *sent, void *received, size_t count, ncclDataType_t type, ncclComm_t communicator,
                           cudaStream_t stream);

#endif
