# SPDX-License-Identifier: BSD-3-Clause
# Sourced by jobs/run and tests/run: other MPIs beside the system's.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # mpi_arguments and cores, in setup.sh

# Keeps the alternatives of MPI (mpicc, mpiexec, mpi.h, libmpi.so) as they are:
# Debian ranks Open MPI above MPICH, and an alternative in automatic
# mode would follow. A manual one stays.
pin_alternatives() {
    local name value
    for name in $(update-alternatives --get-selections |
        awk '/^mpi/ { print $1 }'); do
        value=$(update-alternatives --query "$name" | sed -n 's/^Value: //p')
        as_root update-alternatives --quiet --set "$name" "$value" || return 1
    done
}

# What the system's names of MPI mean.
system_mpi() {
    readlink -f /usr/bin/mpicc /usr/bin/mpiexec /usr/include/*/mpi \
        /usr/lib/*/libmpi.so /usr/lib/*/pkgconfig/mpi.pc
}

# Installs Open MPI; mpicc and mpiexec stay what they were.
openmpi_install() {
    local before
    [ -n "$(missing_packages openmpi)" ] || return 0
    before=$(system_mpi)
    [ "${AMALGAM_INSTALL:-yes}" = no ] || pin_alternatives || return 1
    install_packages openmpi
    [ "$before" = "$(system_mpi)" ] || {
        echo "another MPI is the system's now:"
        diff <(echo "$before") <(system_mpi)
        return 1
    }
}

# mpich_ofi_source DIR: puts the sources of Debian's package there. The list of
# source packages is of this folder alone; the system's lists stay as they are.
mpich_ofi_source() {
    local dir=$1 apt
    mkdir -p "$dir/apt/lists/partial" "$dir/apt/cache/archives/partial"
    apt-get indextargets --format "deb-src [signed-by=$(
        ls /usr/share/keyrings/debian-archive-keyring.gpg)] \$(REPO_URI) \$(CODENAME) main" \
        'Created-By: Packages' 'Origin: Debian' | sort -u >"$dir/apt/sources.list"
    apt=(apt-get -q -o "Dir::Etc::SourceList=$dir/apt/sources.list"
        -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$dir/apt/lists"
        -o "Dir::Cache=$dir/apt/cache" -o APT::Sandbox::User=root)
    "${apt[@]}" update && (cd "$dir" && "${apt[@]}" --download-only source mpich) &&
        mkdir "$dir/source" &&
        tar -xf "$dir"/mpich_*.orig.tar.* -C "$dir/source" --strip-components 1
}

# Builds MPICH over libfabric (ch4:ofi, as Intel MPI and Cray MPICH are) where no
# earlier call has done so; it is used until somebody removes the folder. About
# ten minutes of one core. Datatypes by its older engine: the newer one would
# take longer to compile than all the rest. Libraries that libfabric needs are
# not linked again, as Debian has some only where they are installed.
mpich_ofi_build() {
    local prefix=$1 dir=$1.new
    [ ! -x "$prefix/bin/mpiexec" ] || return 0
    rm -rf "$dir" && mkdir -p "$dir" && mpich_ofi_source "$dir" &&
        sed -i 's/pkg-config --static/pkg-config/' "$dir/source/configure" &&
        (cd "$dir/source" && ./configure --prefix="$prefix" \
            --with-device=ch4:ofi --with-libfabric=/usr --with-hwloc=/usr \
            --with-datatype-engine=dataloop --disable-fortran --disable-cxx \
            --disable-romio --disable-static --enable-silent-rules \
            CFLAGS=-O2) >"$dir/configure.log" 2>&1 &&
        make -C "$dir/source" -j "$cores" >"$dir/build.log" 2>&1 &&
        make -C "$dir/source" install >"$dir/install.log" 2>&1 && {
        rm -rf "$dir"
        return 0
    }
    echo "MPICH could not be built; what was said is in $dir" >&2
    return 1
}

# mpi_prepare openmpi|ofi: installs or builds it, and sets mpi_arguments to what
# CMake has to be told.
mpi_prepare() {
    local prefix=${XDG_CACHE_HOME:-$HOME/.cache}/amalgam/mpich-ofi
    case $1 in
    openmpi)
        openmpi_install || return 1
        mpi_arguments=("-DMPI_C_COMPILER=$(command -v mpicc.openmpi)"
            "-DMPI_Fortran_COMPILER=$(command -v mpifort.openmpi)"
            "-DMPIEXEC_EXECUTABLE=$(command -v mpiexec.openmpi)")
        ;;
    ofi)
        mpich_ofi_build "$prefix" || return 1
        mpi_arguments=("-DMPI_C_COMPILER=$prefix/bin/mpicc"
            "-DMPIEXEC_EXECUTABLE=$prefix/bin/mpiexec")
        ;;
    *) fail "--mpi $1: there are openmpi and ofi" ;;
    esac
}
