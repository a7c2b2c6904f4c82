/* Calls what its arguments name, in their order, of the functions that an object generates beside `rms_norm`. */

#include "kernels.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
  for (int argument = 1; argument < argc; ++argument) {
    const int allows = strcmp(argv[argument], "allow") == 0;
    const norma_status status = allows ? rms_norm_allow_ptx() : rms_norm_load(0);
    if (status != NORMA_STATUS_OK) {
      fprintf(stderr, "%s\n", norma_last_error());
      return 1;
    }
  }
  puts("done");
  return 0;
}
