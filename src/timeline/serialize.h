// Timelines as bytes: ranks send theirs to rank 0, reports read them back. Reading gives back an
// equal timeline, bit for bit.
#pragma once

#include <string>
#include <string_view>

#include "timeline/timeline.h"

namespace weft {

std::string timeline_to_cbor(const Timeline& timeline);
std::string timeline_to_json(const Timeline& timeline);  // the same document as text

// Throws UserError, rule "timeline-file", naming `source`.
Timeline timeline_from_cbor(std::string_view bytes, const std::string& source);
Timeline timeline_from_json(std::string_view text, const std::string& source);

}  // namespace weft
