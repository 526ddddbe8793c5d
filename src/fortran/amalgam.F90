! SPDX-License-Identifier: BSD-3-Clause
! The module amalgam: calls between the ranks of an MPI job, in Fortran 2018.
!
!   use mpi_f08
!   use amalgam
!
! include/FORTRAN.md has the rules for arguments, errors and threads. A
! procedure does what the C function of that name does (man amalgam_init ...),
! but for what the comment here says. "any": a scalar, array or section of any
! type, intrinsic or bind(c); square brackets: optional. The last argument,
! ierror, gets HG_SUCCESS or a code; without ierror an error ends the job.
module amalgam
  use, intrinsic :: iso_c_binding, only: c_char, c_f_procpointer, c_funloc, &
      c_funptr, c_int, c_int64_t, c_null_funptr, c_null_ptr, c_ptr
#ifdef AMALGAM_MPI_F08
  use mpi_f08, only: MPI_Comm, MPI_Datatype, MPI_Group, MPI_Op, MPI_Request
#endif
  implicit none
  private

  ! Kind of offsets and sizes in bytes.
  integer, parameter, public :: AMALGAM_SIZE_KIND = c_int64_t
  ! Objects: null until a procedure has made them, and again when freed. A copy
  ! names the same object.
  type, bind(c), public :: amalgam_class
    private
    type(c_ptr) :: ptr = c_null_ptr
  end type
  type, bind(c), public :: amalgam_rpc
    private
    type(c_ptr) :: ptr = c_null_ptr
  end type
  type, bind(c), public :: amalgam_handle
    private
    type(c_ptr) :: ptr = c_null_ptr
  end type
  type, bind(c), public :: amalgam_request
    private
    type(c_ptr) :: ptr = c_null_ptr
  end type
  type, bind(c), public :: amalgam_bulk
    private
    type(c_ptr) :: ptr = c_null_ptr
  end type
  type, bind(c), public :: amalgam_group
    private
    type(c_ptr) :: ptr = c_null_ptr
    integer(c_int) :: is_all = 0
  end type

  ! All ranks of a class.
  type(amalgam_group), parameter, public :: AMALGAM_GROUP_ALL = &
      amalgam_group(c_null_ptr, 1)

  ! Codes that ierror gets: those of C, see mercury_core_types.h.
  integer(c_int), parameter, public :: HG_SUCCESS = 0, HG_PERMISSION = 1, &
      HG_NOENTRY = 2, HG_INTERRUPT = 3, HG_AGAIN = 4, HG_NOMEM = 5, &
      HG_ACCESS = 6, HG_FAULT = 7, HG_BUSY = 8, HG_EXIST = 9, HG_NODEV = 10, &
      HG_INVALID_ARG = 11, HG_PROTOCOL_ERROR = 12, HG_OVERFLOW = 13, &
      HG_MSGSIZE = 14, HG_PROTONOSUPPORT = 15, HG_OPNOTSUPPORTED = 16, &
      HG_ADDRINUSE = 17, HG_ADDRNOTAVAIL = 18, HG_HOSTUNREACH = 19, &
      HG_TIMEOUT = 20, HG_CANCELED = 21, HG_IO_ERROR = 22, &
      HG_HOSTFIREWALL = 23, HG_CHECKSUM_ERROR = 24, HG_NA_ERROR = 25, &
      HG_OTHER_ERROR = 26

  ! Accesses that exposed memory allows (flags).
  integer(c_int), parameter, public :: HG_BULK_READ_ONLY = 1, &
      HG_BULK_WRITE_ONLY = 2, HG_BULK_READWRITE = 3
  ! Directions of transfers: to the other rank's memory, and from it.
  integer(c_int), parameter, public :: HG_BULK_PUSH = 0, HG_BULK_PULL = 1

  ! Threads that make progress: enum amalgam_progress of amalgam_progress.h.
  integer(c_int), parameter, public :: AMALGAM_PROGRESS_AUTO = 0, &
      AMALGAM_PROGRESS_CALLER = 1, AMALGAM_PROGRESS_ASSIST = 2, &
      AMALGAM_PROGRESS_THREAD = 3

  ! A handler: runs once for each incoming call of its RPC, where handlers of C
  ! run. A copy of `handle` may answer after the handler has returned.
  abstract interface
    subroutine amalgam_handler(handle)
      import :: amalgam_handle
      type(amalgam_handle), intent(inout) :: handle
    end subroutine
  end interface

  public :: amalgam_handler, amalgam_init, amalgam_finalize, &
      amalgam_progress, amalgam_barrier, &
      amalgam_quiesce, amalgam_error_string, amalgam_register, &
      amalgam_get_input, amalgam_get_source, amalgam_get_bulk, &
      amalgam_respond, amalgam_call, amalgam_icall, &
      amalgam_forward_oneway, amalgam_wait, amalgam_cancel, &
      amalgam_bulk_create, amalgam_bulk_create_type, amalgam_bulk_free, &
      amalgam_bulk_get_size, amalgam_bulk_itransfer, &
      amalgam_bulk_pull, amalgam_bulk_push, amalgam_group_create, &
      amalgam_group_free, amalgam_register_reduce_op, amalgam_call_group, &
      amalgam_icall_group

  ! amalgam_init(comm, class, [transport, credits, message_bytes, progress,]
  !     [ierror])
  ! Opens a class with one context. Collective over `comm`. Where C returns
  ! NULL, ierror is HG_OTHER_ERROR, and the log has the reason.
  interface amalgam_init
#ifdef AMALGAM_MPI_F08
    subroutine init_f08(comm, class, transport, credits, message_bytes, &
        progress, ierror) bind(c, name="amalgam_f_init")
      import
      type(MPI_Comm), intent(in) :: comm
      type(amalgam_class), intent(out) :: class
      character(len=*, kind=c_char), intent(in), optional :: transport
      integer(c_int), intent(in), optional :: credits, message_bytes, progress
      integer(c_int), intent(out), optional :: ierror
    end subroutine
#endif
    subroutine init_int(comm, class, transport, credits, message_bytes, &
        progress, ierror) bind(c, name="amalgam_f_init_int")
      import
      integer(c_int), intent(in) :: comm
      type(amalgam_class), intent(out) :: class
      character(len=*, kind=c_char), intent(in), optional :: transport
      integer(c_int), intent(in), optional :: credits, message_bytes, progress
      integer(c_int), intent(out), optional :: ierror
    end subroutine
  end interface

  ! amalgam_finalize(class, [ierror])
  ! Frees the class and its RPCs, but not after HG_BUSY.
  interface
    subroutine amalgam_finalize(class, ierror) bind(c, &
        name="amalgam_f_finalize")
      import
      type(amalgam_class), intent(inout) :: class
      integer(c_int), intent(out), optional :: ierror
    end subroutine

  ! amalgam_progress(class, timeout_ms, [ierror])
  ! HG_Progress() and HG_Trigger(): runs handlers and callbacks, and waits for
  ! events up to timeout_ms. ierror is HG_TIMEOUT if none ran; without ierror
  ! that is no error.
    subroutine amalgam_progress(class, timeout_ms, ierror) bind(c, &
        name="amalgam_f_progress")
      import
      type(amalgam_class), intent(in) :: class
      integer(c_int), value :: timeout_ms
      integer(c_int), intent(out), optional :: ierror
    end subroutine

  ! amalgam_barrier(class, [ierror])
    subroutine amalgam_barrier(class, ierror) bind(c, name="amalgam_f_barrier")
      import
      type(amalgam_class), intent(in) :: class
      integer(c_int), intent(out), optional :: ierror
    end subroutine

  ! amalgam_quiesce(class, [timeout_ms,] [ierror])
  ! Without timeout_ms: waits without limit.
    subroutine amalgam_quiesce(class, timeout_ms, ierror) bind(c, &
        name="amalgam_f_quiesce")
      import
      type(amalgam_class), intent(in) :: class
      integer(c_int), intent(in), optional :: timeout_ms
      integer(c_int), intent(out), optional :: ierror
    end subroutine

  ! amalgam_error_string(code, string)
  ! The name of a code, such as "HG_TIMEOUT", in at most len(string) characters.
    subroutine amalgam_error_string(code, string) bind(c, &
        name="amalgam_f_error_string")
      import
      integer(c_int), value :: code
      character(len=*, kind=c_char), intent(inout) :: string
    end subroutine
  end interface

  ! amalgam_register() in C.
  interface
    subroutine c_register(class, name, rpc, handler, is_oneway, has_bulk, &
        ierror) bind(c, name="amalgam_f_register")
      import
      type(amalgam_class), intent(in) :: class
      character(len=*, kind=c_char), intent(in) :: name
      type(amalgam_rpc), intent(out) :: rpc
      type(c_funptr), value :: handler
      integer(c_int), value :: is_oneway, has_bulk
      integer(c_int), intent(out), optional :: ierror
    end subroutine

  ! amalgam_get_input(handle, [in, count,] [ierror])
  ! Copies the input of a call to `in` (any). `count` gets the number of
  ! elements that came, and allows fewer than `in` has; a text is filled up with
  ! blanks. Without `in`, `count` is the number of bytes. HG_OVERFLOW: more came
  ! than `in` has room for; HG_MSGSIZE: fewer, without `count`.
    subroutine amalgam_get_input(handle, in, count, ierror) bind(c, &
        name="amalgam_f_get_input")
      import
      type(amalgam_handle), intent(in) :: handle
      type(*), dimension(..), optional :: in
      integer(c_int), intent(out), optional :: count, ierror
    end subroutine

  ! amalgam_get_source(handle, rank, [ierror])
  ! The caller's rank.
    subroutine amalgam_get_source(handle, rank, ierror) bind(c, &
        name="amalgam_f_get_source")
      import
      type(amalgam_handle), intent(in) :: handle
      integer(c_int), intent(out) :: rank
      integer(c_int), intent(out), optional :: ierror
    end subroutine

  ! amalgam_get_bulk(handle, bulk, [ierror])
  ! The bulk handle that came with a call: the caller's memory. The handler's
  ! program frees it by amalgam_bulk_free. HG_NOENTRY: none came.
    subroutine amalgam_get_bulk(handle, bulk, ierror) bind(c, &
        name="amalgam_f_get_bulk")
      import
      type(amalgam_handle), intent(in) :: handle
      type(amalgam_bulk), intent(out) :: bulk
      integer(c_int), intent(out), optional :: ierror
    end subroutine

  ! amalgam_respond(handle, [out,] [ierror])
  ! Answers with `out` (any), and frees the handle. In the handler or later,
  ! once.
    subroutine amalgam_respond(handle, out, ierror) bind(c, &
        name="amalgam_f_respond")
      import
      type(amalgam_handle), intent(inout) :: handle
      type(*), dimension(..), intent(in), optional :: out
      integer(c_int), intent(out), optional :: ierror
    end subroutine
  end interface

  ! amalgam_call(rpc, rank, [in, out, count, bulk, timeout_ms,] [ierror])
  ! Calls an RPC of a rank, and waits for the answer; serves incoming calls
  ! meanwhile. in, out (any), count: as for amalgam_get_input. `bulk` goes with
  ! the call, if the RPC was registered with bulk=.true. After timeout_ms the
  ! call is cancelled: HG_TIMEOUT. Other codes: those that the callback of
  ! HG_Forward() gets.
  interface
    subroutine amalgam_call(rpc, rank, in, out, count, bulk, timeout_ms, &
        ierror) bind(c, name="amalgam_f_call")
      import
      type(amalgam_rpc), intent(in) :: rpc
      integer(c_int), value :: rank
      type(*), dimension(..), intent(in), optional :: in
      type(*), dimension(..), optional :: out
      type(amalgam_bulk), intent(in), optional :: bulk
      integer(c_int), intent(in), optional :: timeout_ms
      integer(c_int), intent(out), optional :: count, ierror
    end subroutine

  ! amalgam_icall(rpc, rank, in, request, [bulk,] [ierror])
  ! Begins a call. `in` (any) may change when the procedure returns.
    subroutine amalgam_icall(rpc, rank, in, request, bulk, ierror) bind(c, &
        name="amalgam_f_icall")
      import
      type(amalgam_rpc), intent(in) :: rpc
      integer(c_int), value :: rank
      type(*), dimension(..), intent(in) :: in
      type(amalgam_request), intent(out) :: request
      type(amalgam_bulk), intent(in), optional :: bulk
      integer(c_int), intent(out), optional :: ierror
    end subroutine

  ! amalgam_forward_oneway(rpc, rank, [in,] [ierror])
  ! Sends a call that nobody answers, of an RPC with oneway=.true. Serves
  ! incoming calls while the way to that rank is full.
    subroutine amalgam_forward_oneway(rpc, rank, in, ierror) bind(c, &
        name="amalgam_f_forward_oneway")
      import
      type(amalgam_rpc), intent(in) :: rpc
      integer(c_int), value :: rank
      type(*), dimension(..), intent(in), optional :: in
      integer(c_int), intent(out), optional :: ierror
    end subroutine
  end interface

  ! amalgam_wait(request, [out, count, failed, timeout_ms,] [ierror])
  ! Waits for a call or transfer, serves incoming calls meanwhile, fetches the
  ! output, and frees the request. `failed` gets the ranks that failed in a call
  ! to a group. HG_OVERFLOW (a longer output than `out`), and HG_TIMEOUT because
  ! timeout_ms is over: the request stays. A call to a group whose own limit is
  ! over ends with HG_TIMEOUT, too, and is freed: wait without timeout_ms.
  ! amalgam_wait(class, request, [timeout_ms,] [ierror])
  ! Waits for a request of MPI, as amalgam_wait() in C.
  interface amalgam_wait
    subroutine wait_call(request, out, count, failed, timeout_ms, ierror) &
        bind(c, name="amalgam_f_wait")
      import
      type(amalgam_request), intent(inout) :: request
      type(*), dimension(..), optional :: out
      integer(c_int), allocatable, intent(out), optional :: failed(:)
      integer(c_int), intent(in), optional :: timeout_ms
      integer(c_int), intent(out), optional :: count, ierror
    end subroutine
#ifdef AMALGAM_MPI_F08
    subroutine wait_mpi_f08(class, request, timeout_ms, ierror) bind(c, &
        name="amalgam_f_wait_mpi")
      import
      type(amalgam_class), intent(in) :: class
      type(MPI_Request), intent(inout) :: request
      integer(c_int), intent(in), optional :: timeout_ms
      integer(c_int), intent(out), optional :: ierror
    end subroutine
#endif
    subroutine wait_mpi_int(class, request, timeout_ms, ierror) bind(c, &
        name="amalgam_f_wait_mpi_int")
      import
      type(amalgam_class), intent(in) :: class
      integer(c_int), intent(inout) :: request
      integer(c_int), intent(in), optional :: timeout_ms
      integer(c_int), intent(out), optional :: ierror
    end subroutine
  end interface

  ! amalgam_cancel(request, [ierror])
  ! Asks for the end of a call, as HG_Cancel(). amalgam_wait still
  ! has to be called; its ierror is HG_CANCELED, unless the end came first.
  interface
    subroutine amalgam_cancel(request, ierror) bind(c, name="amalgam_f_cancel")
      import
      type(amalgam_request), intent(in) :: request
      integer(c_int), intent(out), optional :: ierror
    end subroutine
  end interface

  ! amalgam_bulk_create(class, array, flags, bulk, [ierror])
  ! Exposes the elements of `array` (any): the pieces of a section are segments.
  ! The variable must be asynchronous or a target, and must live until
  ! amalgam_bulk_free.
  interface
    subroutine amalgam_bulk_create(class, array, flags, bulk, ierror) &
        bind(c, name="amalgam_f_bulk_create")
      import
      type(amalgam_class), intent(in) :: class
      type(*), dimension(..), asynchronous :: array
      integer(c_int), value :: flags
      type(amalgam_bulk), intent(out) :: bulk
      integer(c_int), intent(out), optional :: ierror
    end subroutine
  end interface

  ! amalgam_bulk_create_type(class, array, count, datatype, flags, bulk,
  !     [ierror])
  ! Exposes `count` elements of an MPI datatype that begin where `array` begins.
  interface amalgam_bulk_create_type
#ifdef AMALGAM_MPI_F08
    subroutine bulk_create_type_f08(class, array, count, datatype, flags, &
        bulk, ierror) bind(c, name="amalgam_f_bulk_create_type")
      import
      type(amalgam_class), intent(in) :: class
      type(MPI_Datatype), intent(in) :: datatype
      type(*), dimension(..), asynchronous :: array
      integer(c_int), value :: count, flags
      type(amalgam_bulk), intent(out) :: bulk
      integer(c_int), intent(out), optional :: ierror
    end subroutine
#endif
    subroutine bulk_create_type_int(class, array, count, datatype, flags, &
        bulk, ierror) bind(c, name="amalgam_f_bulk_create_type_int")
      import
      type(amalgam_class), intent(in) :: class
      integer(c_int), intent(in) :: datatype
      type(*), dimension(..), asynchronous :: array
      integer(c_int), value :: count, flags
      type(amalgam_bulk), intent(out) :: bulk
      integer(c_int), intent(out), optional :: ierror
    end subroutine
  end interface

  ! amalgam_bulk_free(bulk, [ierror])
  interface
    subroutine amalgam_bulk_free(bulk, ierror) bind(c, &
        name="amalgam_f_bulk_free")
      import
      type(amalgam_bulk), intent(inout) :: bulk
      integer(c_int), intent(out), optional :: ierror
    end subroutine

  ! amalgam_bulk_get_size(bulk, size, [ierror])
  ! The number of bytes.
    subroutine amalgam_bulk_get_size(bulk, size, ierror) bind(c, &
        name="amalgam_f_bulk_get_size")
      import
      type(amalgam_bulk), intent(in) :: bulk
      integer(AMALGAM_SIZE_KIND), intent(out) :: size
      integer(c_int), intent(out), optional :: ierror
    end subroutine

  ! amalgam_bulk_itransfer(op, remote, remote_offset, local, local_offset, size,
  !     request, [ierror])
  ! Begins to move bytes between the memory of another rank (`remote`, of
  ! amalgam_get_bulk) and this rank's; amalgam_wait ends it. Offsets and size
  ! are in bytes.
    subroutine amalgam_bulk_itransfer(op, remote, remote_offset, local, &
        local_offset, size, request, ierror) bind(c, &
        name="amalgam_f_bulk_itransfer")
      import
      integer(c_int), value :: op
      type(amalgam_bulk), intent(in) :: remote, local
      integer(AMALGAM_SIZE_KIND), value :: remote_offset, local_offset, size
      type(amalgam_request), intent(out) :: request
      integer(c_int), intent(out), optional :: ierror
    end subroutine

  ! amalgam_bulk_pull(remote, array, [offset,] [ierror])
  ! amalgam_bulk_push(remote, array, [offset,] [ierror])
  ! Moves all bytes of `array` (any) from or to `offset` (0) of the memory of
  ! another rank; waits, and serves meanwhile.
    subroutine amalgam_bulk_pull(remote, array, offset, ierror) bind(c, &
        name="amalgam_f_bulk_pull")
      import
      type(amalgam_bulk), intent(in) :: remote
      type(*), dimension(..) :: array
      integer(AMALGAM_SIZE_KIND), intent(in), optional :: offset
      integer(c_int), intent(out), optional :: ierror
    end subroutine
    subroutine amalgam_bulk_push(remote, array, offset, ierror) bind(c, &
        name="amalgam_f_bulk_push")
      import
      type(amalgam_bulk), intent(in) :: remote
      type(*), dimension(..), intent(in) :: array
      integer(AMALGAM_SIZE_KIND), intent(in), optional :: offset
      integer(c_int), intent(out), optional :: ierror
    end subroutine
  end interface

  ! amalgam_group_create(class, mpigroup, group, [ierror])
  ! amalgam_group_create(class, ranks, group, [ierror])
  ! Makes a group from one of MPI, or from an array of ranks of the class.
  interface amalgam_group_create
#ifdef AMALGAM_MPI_F08
    subroutine group_create_f08(class, mpigroup, group, ierror) bind(c, &
        name="amalgam_f_group_create")
      import
      type(amalgam_class), intent(in) :: class
      type(MPI_Group), intent(in) :: mpigroup
      type(amalgam_group), intent(out) :: group
      integer(c_int), intent(out), optional :: ierror
    end subroutine
#endif
    subroutine group_create_int(class, mpigroup, group, ierror) bind(c, &
        name="amalgam_f_group_create_int")
      import
      type(amalgam_class), intent(in) :: class
      integer(c_int), intent(in) :: mpigroup
      type(amalgam_group), intent(out) :: group
      integer(c_int), intent(out), optional :: ierror
    end subroutine
    subroutine group_create_ranks(class, ranks, group, ierror) bind(c, &
        name="amalgam_f_group_create_ranks")
      import
      type(amalgam_class), intent(in) :: class
      integer(c_int), intent(in) :: ranks(:)
      type(amalgam_group), intent(out) :: group
      integer(c_int), intent(out), optional :: ierror
    end subroutine
  end interface

  ! amalgam_group_free(group, [ierror])
  interface
    subroutine amalgam_group_free(group, ierror) bind(c, &
        name="amalgam_f_group_free")
      import
      type(amalgam_group), intent(inout) :: group
      integer(c_int), intent(out), optional :: ierror
    end subroutine
  end interface

  ! amalgam_register_reduce_op(rpc, op, datatype, count, [ierror])
  ! Outputs of calls to groups are folded by an operation of MPI, predefined or
  ! of MPI_Op_create.
  interface amalgam_register_reduce_op
#ifdef AMALGAM_MPI_F08
    subroutine register_reduce_op_f08(rpc, op, datatype, count, ierror) &
        bind(c, name="amalgam_f_register_reduce_op")
      import
      type(amalgam_rpc), intent(in) :: rpc
      type(MPI_Op), intent(in) :: op
      type(MPI_Datatype), intent(in) :: datatype
      integer(c_int), value :: count
      integer(c_int), intent(out), optional :: ierror
    end subroutine
#endif
    subroutine register_reduce_op_int(rpc, op, datatype, count, ierror) &
        bind(c, name="amalgam_f_register_reduce_op_int")
      import
      type(amalgam_rpc), intent(in) :: rpc
      integer(c_int), intent(in) :: op, datatype
      integer(c_int), value :: count
      integer(c_int), intent(out), optional :: ierror
    end subroutine
  end interface

  ! amalgam_call_group(rpc, group, [in, out, count, failed, timeout_ms,]
  !     [ierror])
  ! amalgam_icall_group(rpc, group, in, request, [timeout_ms,] [ierror])
  ! Calls an RPC of all ranks of a group: amalgam_forward_group_timed(). `out`
  ! gets the folded outputs of an RPC with a reduction. `failed` gets the ranks
  ! that failed, where ierror is not HG_SUCCESS. HG_AGAIN (amalgam_icall_group):
  ! too many calls to groups are under way; wait for one.
  interface
    subroutine amalgam_call_group(rpc, group, in, out, count, failed, &
        timeout_ms, ierror) bind(c, name="amalgam_f_call_group")
      import
      type(amalgam_rpc), intent(in) :: rpc
      type(amalgam_group), intent(in) :: group
      type(*), dimension(..), intent(in), optional :: in
      type(*), dimension(..), optional :: out
      integer(c_int), allocatable, intent(out), optional :: failed(:)
      integer(c_int), intent(in), optional :: timeout_ms
      integer(c_int), intent(out), optional :: count, ierror
    end subroutine
    subroutine amalgam_icall_group(rpc, group, in, request, timeout_ms, &
        ierror) bind(c, name="amalgam_f_icall_group")
      import
      type(amalgam_rpc), intent(in) :: rpc
      type(amalgam_group), intent(in) :: group
      type(*), dimension(..), intent(in) :: in
      type(amalgam_request), intent(out) :: request
      integer(c_int), intent(in), optional :: timeout_ms
      integer(c_int), intent(out), optional :: ierror
    end subroutine
  end interface

contains

  ! amalgam_register(class, name, rpc, [handler, oneway, bulk,] [ierror])
  ! Registers an RPC: HG_Register_name(). Ranks that only call pass no handler.
  ! oneway=.true.: calls have no answer. bulk=.true.: each call carries a bulk
  ! handle, before its other arguments. Both sides pass the same.
  subroutine amalgam_register(class, name, rpc, handler, oneway, bulk, ierror)
    type(amalgam_class), intent(in) :: class
    character(len=*), intent(in) :: name
    type(amalgam_rpc), intent(out) :: rpc
    procedure(amalgam_handler), optional :: handler
    logical, intent(in), optional :: oneway, bulk
    integer, intent(out), optional :: ierror
    type(c_funptr) :: function
    integer(c_int) :: is_oneway, has_bulk

    function = c_null_funptr
    is_oneway = 0
    has_bulk = 0
    if (present(handler)) function = c_funloc(handler)
    if (present(oneway)) is_oneway = merge(1, 0, oneway)
    if (present(bulk)) has_bulk = merge(1, 0, bulk)
    call c_register(class, name, rpc, function, is_oneway, has_bulk, ierror)
  end subroutine

  ! Called by the C part for each call that arrives.
  subroutine run_handler(function, handle) bind(c, name="amalgam_f_run_handler")
    type(c_funptr), value :: function
    type(amalgam_handle), intent(inout) :: handle
    procedure(amalgam_handler), pointer :: handler

    call c_f_procpointer(function, handler)
    call handler(handle)
  end subroutine
end module
