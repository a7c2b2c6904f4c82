/* Loads `rms_norm` of an object. */

#include "kernels.h"

#include <stdio.h>

int main(void) {
  if (rms_norm_load(0) != NORMA_STATUS_OK) {
    fprintf(stderr, "%s\n", norma_last_error());
    return 1;
  }
  puts("done");
  return 0;
}
