#include "layout/layout.h"

namespace weft {

Layout without_mtp(Layout layout) {
  for (StageLayers& stage : layout.stages) stage.mtp_layers.clear();
  return layout;
}

std::string stage_text(const StageLayers& stage) {
  std::string text;
  if (stage.embedding) text += 'E';
  text.append(stage.decoder_layers.size(), 't');
  text.append(stage.mtp_layers.size(), 'm');
  if (stage.loss) text += 'L';
  return text;
}

}  // namespace weft
