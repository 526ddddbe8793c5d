! SPDX-License-Identifier: BSD-3-Clause
! Computes on a grid of which each rank has some rows, and pulls the rows of its
! neighbours, in Fortran.
!
! Rows of a Fortran array are not adjacent in memory: a row is a section, and an
! MPI datatype names it as well. Each rank tells its neighbours once where its
! first and last row are, by a call with a bulk handle. Afterwards a rank pulls
! its neighbours' rows into its halo when it needs them, and no handler runs.
!
! A barrier before the pulls says that the rows are computed, a barrier after
! them that the rows may change. amalgam_barrier() serves other ranks meanwhile.
module fortran_halo_served
  use amalgam
  implicit none
  integer, parameter :: before = 1, behind = 2
  type(amalgam_bulk) :: rows_of(2) ! of the rank before, and of the rank behind
contains
  ! A neighbour's row; the input says on which side that neighbour is.
  subroutine take_row(handle)
    type(amalgam_handle), intent(inout) :: handle
    integer :: side

    call amalgam_get_input(handle, side)
    call amalgam_get_bulk(handle, rows_of(side))
    call amalgam_respond(handle)
  end subroutine
end module

program fortran_halo
  use mpi_f08
  use amalgam
  use fortran_halo_served
  implicit none
  integer, parameter :: rows = 8, columns = 50, steps = 20
  type(amalgam_class) :: class
  type(amalgam_rpc) :: rpc
  type(amalgam_bulk) :: first, last
  type(MPI_Datatype) :: row
  real(8), asynchronous :: grid(0:rows + 1, columns) ! with the halo
  real(8) :: own_sum, total
  integer :: rank, ranks, i, j, step

  if (command_argument_count() > 0) error stop "fortran_halo takes no words"
  call MPI_Init()
  call amalgam_init(MPI_COMM_WORLD, class)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call amalgam_register(class, "row", rpc, take_row, bulk=.true.)

  grid = 0
  do j = 1, columns
    do i = 1, rows
      grid(i, j) = real(mod(7 * (rank * rows + i) + 3 * j, 11), 8)
    end do
  end do

  ! The same kind of handle in two ways: by a section, and by an MPI datatype.
  call amalgam_bulk_create(class, grid(1, :), HG_BULK_READ_ONLY, first)
  call MPI_Type_vector(columns, 1, rows + 2, MPI_DOUBLE_PRECISION, row)
  call MPI_Type_commit(row)
  call amalgam_bulk_create_type(class, grid(rows, 1), 1, row, &
      HG_BULK_READ_ONLY, last)
  call MPI_Type_free(row)
  if (rank > 0) call amalgam_call(rpc, rank - 1, behind, bulk=first)
  if (rank < ranks - 1) call amalgam_call(rpc, rank + 1, before, bulk=last)

  do step = 1, steps
    call amalgam_barrier(class)
    if (rank > 0) call amalgam_bulk_pull(rows_of(before), grid(0, :))
    if (rank < ranks - 1) call amalgam_bulk_pull(rows_of(behind), grid(rows + 1, :))
    call amalgam_barrier(class)
    call smooth()
  end do

  own_sum = sum(grid(1:rows, :))
  call MPI_Reduce(own_sum, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, &
      MPI_COMM_WORLD)
  if (rank == 0) print "(a, i0, a, f0.3)", "rank 0: ", ranks, &
      " ranks, the sum is ", total
  call amalgam_barrier(class)
  if (rank > 0) call amalgam_bulk_free(rows_of(before))
  if (rank < ranks - 1) call amalgam_bulk_free(rows_of(behind))
  call amalgam_bulk_free(first)
  call amalgam_bulk_free(last)
  call amalgam_finalize(class)
  call MPI_Finalize()

contains

  ! Replaces each cell by the mean of itself and its neighbours above and below.
  ! What leaves a cell arrives in another, so the sum of all cells stays: a cell
  ! at the end of the grid counts itself once more.
  subroutine smooth()
    real(8) :: old(0:rows + 1)

    if (rank == 0) grid(0, :) = grid(1, :)
    if (rank == ranks - 1) grid(rows + 1, :) = grid(rows, :)
    do j = 1, columns
      old = grid(:, j)
      do i = 1, rows
        grid(i, j) = (old(i - 1) + old(i) + old(i + 1)) / 3
      end do
    end do
  end subroutine
end program
