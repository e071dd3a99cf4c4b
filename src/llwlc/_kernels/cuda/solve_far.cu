// `solve` for graphs whose Krylov vectors do not fit into fast memory: what is read at random stays there.
#define SOLVE solve_far
#define FAR
#include "solve.cu"
