// What a micro-batch holds of each stage of a model: activation_bytes.h as the compute level sees
// it, stage by stage.
#pragma once

#include <vector>

#include "estimate/activation_bytes.h"
#include "layout/layout.h"

namespace weft {

// [stage]. The buffers of a hand-over count with the stage that reads them, whether its neighbour
// is on another rank or not; what comes to be and goes within a stage, wires included, is in
// `forward`, `backward` and `dgrad`, every wire waited for at once.
std::vector<KeptBytes> model_stage_bytes(const Layout& layout, const ActivationTable& table);

}  // namespace weft
