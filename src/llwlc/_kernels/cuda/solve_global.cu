// `solve` for graphs of which nothing fits into fast memory.
#define SOLVE solve_global
#define ALL_GLOBAL
#include "solve.cu"
