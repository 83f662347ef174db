#include "layout/layout.h"

namespace weft {

std::string stage_text(const StageLayers& stage) {
  std::string text;
  if (stage.embedding) text += 'E';
  text.append(stage.decoder_layers.size(), 't');
  text.append(stage.mtp_layers.size(), 'm');
  if (stage.loss) text += 'L';
  return text;
}

}  // namespace weft
