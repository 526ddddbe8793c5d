# SPDX-License-Identifier: BSD-3-Clause
#
# Recipe for Spack. From the top of the source tree:
#     spack repo add src/install/spack
#     spack install amalgam            # clones the repository that has this recipe
#     spack dev-build amalgam@main     # builds the tree as it is

import os

from spack.package import *

try:
    from spack_repo.builtin.build_systems.cmake import CMakePackage
except ImportError:  # Spack before 1.0 has the class in spack.package
    pass


class Amalgam(CMakePackage):
    """RPC and bulk transfers between MPI ranks, with the APIs of Mercury, Margo,
    Argobots and Thallium."""

    # The top of the source tree that has this file.
    git = "file://" + os.path.abspath(os.path.join(__file__, *[".."] * 6))

    license("BSD-3-Clause")

    version("main", branch="main")
    version("0.2.0", tag="v0.2.0")

    variant("shared", default=True, description="Build shared libraries")
    variant("mpi", default=True, description="Build the transports over MPI")
    variant("ofi", default=True, description="Build the transport over libfabric")
    variant("hwloc", default=True, description="Find caches and NICs by hwloc")
    variant("json", default=True, description="Build amalgam_info --json")
    variant("margo", default=True, description="Build Margo and user-level threads")
    variant("thallium", default=True, description="Install the API in C++")
    variant("fortran", default=False, description="Build the module of Fortran")

    conflicts("+thallium", when="~margo", msg="thallium.hpp stands on Margo")
    conflicts("+fortran", when="~mpi", msg="the module takes communicators of MPI")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+thallium")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("zlib-api")
    depends_on("uthash", type="build")
    depends_on("mpi@3.1:", when="+mpi")
    depends_on("libfabric@1.17:", when="+ofi")
    depends_on("hwloc@2.9:", when="+hwloc")
    depends_on("json-c@0.15:", when="+json")
    depends_on("json-c@0.15:", when="+margo")
    # Its headers are part of the API.
    depends_on("cereal", type=("build", "link", "run"), when="+thallium")
    # Checksums of a job that is built, but not installed.
    depends_on("xxhash", type="build", when="+mpi")

    generator("ninja")

    def cmake_args(self):
        return [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("AMALGAM_MPI", "mpi"),
            self.define_from_variant("AMALGAM_OFI", "ofi"),
            self.define_from_variant("AMALGAM_HWLOC", "hwloc"),
            self.define_from_variant("AMALGAM_JSON", "json"),
            self.define_from_variant("AMALGAM_MARGO", "margo"),
            self.define_from_variant("AMALGAM_THALLIUM", "thallium"),
            self.define_from_variant("AMALGAM_FORTRAN", "fortran"),
            self.define("AMALGAM_MAN", True),
            self.define("AMALGAM_TESTS", False),
        ]
