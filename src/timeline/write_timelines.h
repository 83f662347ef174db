// The files of `--timeline`.
#pragma once

#include <string>

#include "timeline/timeline_file.h"

namespace weft {

// `.html`: a page, the prediction below what was measured, rank by rank; `.json`: trace events for
// Perfetto and `weft report`; any other name: both, with these ends. Throws as write_file().
void write_timelines(const std::string& path, const TimelineFile& file);

}  // namespace weft
