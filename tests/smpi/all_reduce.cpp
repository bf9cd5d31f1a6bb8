// One MPI_Allreduce of argv[1] bytes, a multiple of 8; prints the seconds from its start until the last rank has left it.
#include <mpi.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

static void no_arithmetic(void*, void*, int*, MPI_Datatype*) {}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::size_t bytes = std::strtoull(argv[1], nullptr, 10);
  // All ranks share both buffers and nothing is added up: SMPI then copies no bytes.
  void* sent = SMPI_SHARED_MALLOC(bytes);
  void* received = SMPI_SHARED_MALLOC(bytes);
  MPI_Op sum;
  MPI_Op_create(no_arithmetic, 1, &sum);

  const double start = MPI_Wtime();
  MPI_Allreduce(sent, received, static_cast<int>(bytes / sizeof(double)), MPI_DOUBLE, sum, MPI_COMM_WORLD);
  const double end = MPI_Wtime();

  double first_start, last_end;
  MPI_Reduce(&start, &first_start, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Reduce(&end, &last_end, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    std::printf("%.17g\n", last_end - first_start);
  }
  MPI_Op_free(&sum);
  SMPI_SHARED_FREE(sent);
  SMPI_SHARED_FREE(received);
  MPI_Finalize();
}
