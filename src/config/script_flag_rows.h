// Short names for the cells of the tables in script_flags_*.cpp.
#pragma once

#include "config/script_flags.h"

namespace weft {

inline constexpr auto kSwitch = Takes::Nothing;
inline constexpr auto kValue = Takes::Value;
inline constexpr auto kSome = Takes::OneOrMore;
inline constexpr auto kAny = Takes::AnyNumber;

inline constexpr auto kSets = FlagStatus::Built;
inline constexpr auto kSame = FlagStatus::Same;
inline constexpr auto kNone = FlagStatus::NoEffect;
inline constexpr auto kNotYet = FlagStatus::NotYet;
inline constexpr auto kNo = FlagStatus::Refused;

}  // namespace weft
