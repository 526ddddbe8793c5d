! SPDX-License-Identifier: BSD-3-Clause
! The service of the job heat, at rank 0: keeps checkpoints, and steers.
!
! A checkpoint is complete when the blocks of all computing ranks have come. Then
! the service sets the heater so that the mean temperature gets to its goal, and
! tells all computing ranks by one call to their group. Only then it answers the
! calls of that checkpoint. So a rank that has its answer knows the new heater,
! and all ranks use the heater from one step on.
module heat_service
  use amalgam
  use heat_plate
  implicit none
  real(8), parameter :: goal = 8
  real(8), allocatable, asynchronous :: checkpoint(:, :)
  type(amalgam_handle), allocatable :: waiting(:)
  type(amalgam_group) :: workers
  type(amalgam_rpc) :: rpc_steer
  integer :: waiting_count = 0, checkpoints = 0
  real(8) :: service_heater = hottest
contains
  ! A block of the plate at a step; the input is its first column.
  subroutine save_block(handle)
    type(amalgam_handle), intent(inout) :: handle
    type(amalgam_bulk) :: block
    integer(AMALGAM_SIZE_KIND) :: bytes
    integer :: first, last

    call amalgam_get_input(handle, first)
    call amalgam_get_bulk(handle, block)
    call amalgam_bulk_get_size(block, bytes)
    last = first + int(bytes / (8 * rows)) - 1
    ! Blocks of other ranks are served, too, while this pull waits.
    call amalgam_bulk_pull(block, checkpoint(:, first:last))
    call amalgam_bulk_free(block)
    waiting_count = waiting_count + 1
    waiting(waiting_count) = handle
    if (waiting_count == ubound(waiting, 1)) call checkpoint_end()
  end subroutine

  subroutine checkpoint_end()
    type(amalgam_handle), allocatable :: ended(:)
    integer :: i

    checkpoints = checkpoints + 1
    service_heater = heater_next(checkpoint, service_heater)
    print "(a, i0, a, f0.2, a, f0.2)", "rank 0: checkpoint ", checkpoints, &
        ", mean ", mean(checkpoint), ", heater ", service_heater
    allocate(ended, source=waiting)
    waiting_count = 0
    call amalgam_call_group(rpc_steer, workers, service_heater)
    do i = 1, ubound(ended, 1)
      call amalgam_respond(ended(i))
    end do
  end subroutine

  pure real(8) function mean(plate)
    real(8), intent(in) :: plate(:, :)

    mean = sum(plate) / size(plate)
  end function

  ! The temperature of the heater after a checkpoint.
  pure real(8) function heater_next(plate, heater)
    real(8), intent(in) :: plate(:, :), heater

    heater_next = heater + 4 * (goal - mean(plate))
    heater_next = min(hottest, max(coldest, heater_next))
  end function
end module
