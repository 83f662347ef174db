// From flags to which stage holds which layers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/derive.h"
#include "layout/layout.h"

namespace weft {

// P from the config; chunks per rank: 2 under V, else as --pipeline-model-parallel-layout,
// --num-virtual-stages-per-pipeline-rank or --num-layers-per-virtual-pipeline-stage say, else 1.
// Layers that do not fill the last round of stages still get it: 10 layers on 2 ranks with 2 layers
// a stage are 3 chunks a rank. Throws UserError with all that is wrong, naming the flags.
StageMap make_stage_map(const Config& config, Placement placement);
// Placed as the schedule needs; of a schedule in a file, as its stages lie there.
StageMap make_stage_map(const Config& config, const RunFacts& facts);

// The layout string if there is one, else --num-layers by split_layers; without both, one layer a
// stage. --decoder-first-pipeline-num-layers and -last- are what the first and last rank hold in
// all their chunks, as in Megatron, under a V what the first and last stage hold; the other stages
// share the rest. MTP layers sit with the loss, unless the string says otherwise. Throws UserError
// with all that is wrong, naming the flags.
Layout make_layout(const Config& config, const StageMap& map);

// What to tell a user whose layers do not divide by the stages that share them: how they were
// spread. Nothing if they do, or if flags say what each stage holds.
std::optional<std::string> uneven_note(const Config& config, const Layout& layout);

// Decoder layers per stage of the uniform split. Where it does not come out even, the stages before
// the last one hold one more each, from the back: a late stage keeps fewer micro-batches alive.
// Then the first stage, which has the embedding, and at the very end the one with the loss.
std::vector<int> split_layers(int num_layers, int num_stages);

}  // namespace weft
