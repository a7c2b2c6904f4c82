/* What the examples use of CUDA's header, for tests that link the stand-in for the driver. */

#ifndef CUDA_H
#define CUDA_H

#include <stddef.h>

#define cuMemAlloc cuMemAlloc_v2

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_SUCCESS = 0, CU_STREAM_NON_BLOCKING = 1 };
typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;

CUresult cuInit(unsigned flags);
CUresult cuDeviceGet(CUdevice *device, int ordinal);
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes);
CUresult cuStreamCreate(CUstream *stream, unsigned flags);
CUresult cuStreamSynchronize(CUstream stream);

#ifdef __cplusplus
}
#endif

#endif
