! SPDX-License-Identifier: BSD-3-Clause
! Computes how heat spreads in a plate, in Fortran, while rank 0 keeps checkpoints
! and steers the heater.
!
!   heat [FILE.svg]
!
! Ranks 1, 2 ... have a block of columns each, and exchange its edges by their own
! MPI messages. Every few steps a rank copies its block, begins a call that offers
! the copy to rank 0, and computes on. Rank 0 pulls the copies, and steers all
! ranks by a call to their group, whose handler runs while they compute: in a
! thread of the library, in amalgam_progress(), or in amalgam_wait().
!
! At the end rank 0 computes everything alone, and compares each number. FILE.svg
! is a picture of the last checkpoint.
module heat_worker
  use amalgam
  implicit none
  ! What the service told last.
  real(8) :: heater_told = 0
contains
  subroutine steer(handle)
    type(amalgam_handle), intent(inout) :: handle

    call amalgam_get_input(handle, heater_told)
    call amalgam_respond(handle)
  end subroutine
end module

program heat
  use mpi_f08
  use amalgam
  use heat_plate
  use heat_service
  use heat_worker
  implicit none
  integer, parameter :: columns_each = 48, interval = 250, intervals = 16
  type(amalgam_class) :: class
  type(amalgam_rpc) :: rpc_save
  integer :: rank, ranks, columns, i
  character(len=256) :: file

  file = ""
  if (command_argument_count() > 0) call get_command_argument(1, file)
  call MPI_Init()
  call amalgam_init(MPI_COMM_WORLD, class)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  if (ranks < 2) error stop "heat needs a rank that serves and ranks that compute"
  columns = columns_each * (ranks - 1)
  call amalgam_register(class, "save", rpc_save, save_block, bulk=.true.)
  call amalgam_register(class, "steer", rpc_steer, steer)
  if (rank == 0) then
    allocate(checkpoint(rows, columns), waiting(ranks - 1))
    call amalgam_group_create(class, [(i, i = 1, ranks - 1)], workers)
  end if
  call amalgam_barrier(class)
  if (rank > 0) call work()
  ! Rank 0 serves here, until all other ranks have computed all.
  call amalgam_quiesce(class)
  if (rank == 0) call compare()
  if (rank == 0) call amalgam_group_free(workers)
  call amalgam_finalize(class)
  call MPI_Finalize()

contains

  subroutine work()
    real(8), asynchronous :: block(rows, 0:columns_each + 1)
    real(8), asynchronous :: copy(rows, columns_each)
    real(8) :: heater
    type(amalgam_bulk) :: bulk
    type(amalgam_request) :: saving
    integer :: interval_number, step

    block = coldest
    heater = hottest
    heater_told = hottest
    call amalgam_bulk_create(class, copy, HG_BULK_READ_ONLY, bulk)
    do interval_number = 1, intervals
      do step = 1, interval
        call exchange(block)
        call plate_step(block, (rank - 1) * columns_each + 1, columns, heater)
        call amalgam_progress(class, 0)
      end do
      ! With the answer, the heater after that checkpoint has been told. The next
      ! one is told only after the call below.
      if (interval_number > 1) call amalgam_wait(saving)
      heater = heater_told
      copy = block(:, 1:columns_each)
      call amalgam_icall(rpc_save, 0, (rank - 1) * columns_each + 1, saving, &
          bulk=bulk)
    end do
    call amalgam_wait(saving)
    call amalgam_bulk_free(bulk)
  end subroutine

  ! Gets the columns beside the block into its halo.
  subroutine exchange(block)
    real(8), asynchronous, intent(inout) :: block(rows, 0:columns_each + 1)
    type(MPI_Request) :: requests(4)
    integer :: left, right, k

    left = merge(rank - 1, MPI_PROC_NULL, rank > 1)
    right = merge(rank + 1, MPI_PROC_NULL, rank < ranks - 1)
    call MPI_Irecv(block(:, 0), rows, MPI_DOUBLE_PRECISION, left, 1, &
        MPI_COMM_WORLD, requests(1))
    call MPI_Irecv(block(:, columns_each + 1), rows, MPI_DOUBLE_PRECISION, &
        right, 2, MPI_COMM_WORLD, requests(2))
    call MPI_Isend(block(:, columns_each), rows, MPI_DOUBLE_PRECISION, right, &
        1, MPI_COMM_WORLD, requests(3))
    call MPI_Isend(block(:, 1), rows, MPI_DOUBLE_PRECISION, left, 2, &
        MPI_COMM_WORLD, requests(4))
    ! Serves calls of other ranks meanwhile.
    do k = 1, 4
      call amalgam_wait(class, requests(k))
    end do
  end subroutine

  ! Computes the whole plate at rank 0, with the same rules.
  subroutine compare()
    real(8), allocatable :: plate(:, :)
    ! The heaters after the last checkpoint, and after the one before.
    real(8) :: told, told_before, heater
    integer :: interval_number, step
    character(len=80) :: title

    allocate(plate(rows, 0:columns + 1))
    plate = coldest
    told = hottest
    told_before = hottest
    do interval_number = 1, intervals
      heater = told_before
      do step = 1, interval
        call plate_step(plate, 1, columns, heater)
      end do
      told_before = told
      told = heater_next(plate(:, 1:columns), told)
    end do
    if (any(plate(:, 1:columns) /= checkpoint)) &
        error stop "the ranks have computed other numbers"
    print "(a, i0, a)", "rank 0: ", size(checkpoint), &
        " temperatures are those of one rank alone"
    write(title, "(i0, a, f0.1, a, f0.1)") interval * intervals, &
        " steps; mean ", mean(checkpoint), ", heater ", told
    if (file /= "") call plate_draw(checkpoint, trim(file), trim(title))
  end subroutine
end program
