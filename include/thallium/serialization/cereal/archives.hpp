/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers the archives of thallium.hpp with cereal. */
#ifndef THALLIUM_SERIALIZATION_CEREAL_ARCHIVES_HPP
#define THALLIUM_SERIALIZATION_CEREAL_ARCHIVES_HPP

#include <cereal/cereal.hpp>
#include <thallium/serialization/proc_input_archive.hpp>
#include <thallium/serialization/proc_output_archive.hpp>

/* For types that have load_minimal() or save_minimal(). */
namespace cereal
{
namespace traits
{
namespace detail
{

template <typename... Ctx>
struct get_output_from_input<thallium::proc_input_archive<Ctx...>> {
    using type = thallium::proc_output_archive<Ctx...>;
};

template <typename... Ctx>
struct get_input_from_output<thallium::proc_output_archive<Ctx...>> {
    using type = thallium::proc_input_archive<Ctx...>;
};

} /* namespace detail */
} /* namespace traits */
} /* namespace cereal */

CEREAL_REGISTER_ARCHIVE(thallium::proc_input_archive<>)
CEREAL_REGISTER_ARCHIVE(thallium::proc_output_archive<>)

#endif
