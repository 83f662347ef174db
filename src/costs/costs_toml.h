// Costs in a file.
#pragma once

#include <string>
#include <string_view>

#include "costs/costs.h"

namespace weft {

// TOML form of measured or hand-written costs; `print_costs` writes what `parse_costs` reads back
// bit for bit. Errors: UserError naming the file (`source`), key and value.
//
//   unit = "ms"                    # what the numbers are in
//   p2p = 0.0
//   pair = 3.0
//   stage = { forward = 1.0, dgrad = 1.0, wgrad = 1.0 }
//   [stages]
//   7 = { forward = 1.5, dgrad = 1.5, wgrad = 1.0 }
//   [segments]
//   moe_attention = { forward = 4.1, dgrad = 4.3, wgrad = 2.2 }
//   [wires]
//   dispatch = 3.2
//   [device]                       # instead of [segments]; in ms
//   tflops = 600
//   memory_gb_per_s = 2500
//   overhead_us = 20
//   [links]                        # for what [wires] does not name; also `pipeline`, `data`
//   expert = { gb_per_s = 40, latency_us = 20 }
//   [bytes]                        # whole numbers; what is left out is 0, dgrad as backward
//   stage = { activation = 4096, wgrad = 1024 }
//   [bytes.stages]
//   7 = { activation = 8192, wgrad = 1024, forward = 2048, backward = 4096, dgrad = 4096 }
//   [bytes.segments]
//   moe_attention = { activation = 512, wgrad = 128 }
//
// Segments have the names of name_of(), wires of wire_name().
Costs read_costs(const std::string& path);
Costs parse_costs(std::string_view text, const std::string& source);
std::string print_costs(const Costs& costs);

}  // namespace weft
