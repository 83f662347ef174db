// Small layouts and plans as text, for the tests of the passes.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "costs/costs.h"
#include "layout/layout.h"
#include "schedule/csv.h"
#include "schedule/schedule.h"
#include "schedule/step.h"
#include "schedule/text.h"

namespace weft::testing {

// One string a stage: E embedding, d dense, m MoE, n noop layer, p MTP layer, L loss.
inline Layout layout_of(StageMap map, const std::vector<std::string>& stages,
                        bool shared_expert = false) {
  Layout layout;
  layout.map = map;
  layout.shared_expert = shared_expert;
  int mtp_layers = 0;
  for (const std::string& text : stages) {
    StageLayers& stage = layout.stages.emplace_back();
    for (char c : text) {
      if (c == 'E') stage.embedding = true;
      if (c == 'L') stage.loss = true;
      if (c == 'p') stage.mtp_layers.push_back(mtp_layers++);
      if (c == 'E' || c == 'L' || c == 'p') continue;
      stage.decoder_layers.push_back(static_cast<int>(layout.layer_kinds.size()));
      layout.layer_kinds.push_back(c == 'd'   ? LayerKind::Dense
                                   : c == 'm' ? LayerKind::Moe
                                              : LayerKind::Noop);
    }
  }
  return layout;
}

inline std::string text_of(const std::vector<Step>& steps) {
  std::string text;
  for (const Step& step : steps) text += (text.empty() ? "" : " ") + print(step);
  return text;
}

// Costs at which every wire of an MoE layer fits under the segment that spec.md puts over it.
inline Costs round_costs() {
  Costs costs;
  for (bool moe : {false, true}) {
    costs.segments[{SegmentKind::Attention, moe}] = {4, 4, 4};
    costs.segments[{SegmentKind::Mlp, moe}] = {4, 4, 4};
    costs.segments[{SegmentKind::Experts, moe}] = {4, 4, 4};
    costs.segments[{SegmentKind::SharedExpert, moe}] = {2, 2, 2};
    costs.segments[{SegmentKind::Merge, moe}] = {1, 1, 0};
    costs.segments[{SegmentKind::Embedding, moe}] = {1, 0, 1};
    costs.segments[{SegmentKind::Head, moe}] = {2, 2, 2};
    costs.segments[{SegmentKind::MtpProjection, moe}] = {1, 1, 1};
    costs.segments[{SegmentKind::MtpHead, moe}] = {2, 2, 2};
    costs.segments[{SegmentKind::Identity, moe}] = {0, 0, 0};
  }
  for (WireKind kind : {WireKind::Dispatch, WireKind::Combine, WireKind::CombineBackward,
                        WireKind::DispatchBackward}) {
    costs.wires[kind] = 3;
  }
  costs.wires[WireKind::Counts] = 0;
  for (WireKind kind : {WireKind::SendForward, WireKind::RecvForward, WireKind::SendBackward,
                        WireKind::RecvBackward}) {
    costs.wires[kind] = 2;
  }
  return costs;
}

// Layers of all kinds spread over the stages at random, empty stages included; one time in three
// with up to three MTP layers behind them.
inline Layout random_layout(StageMap map, std::mt19937& random) {
  std::vector<std::string> stages(map.num_stages());
  const bool mtp = random() % 3 == 0;
  const std::size_t first_mtp = mtp ? random() % stages.size() : stages.size();
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const int layers = s > first_mtp ? 0 : static_cast<int>(random() % 4);
    for (int i = 0; i < layers; ++i) stages[s] += "dmmn"[random() % 4];
  }
  for (int i = mtp ? static_cast<int>(random() % 4) : 0; i > 0; --i) {
    stages[first_mtp + random() % (stages.size() - first_mtp)] += 'p';
  }
  stages.front() = "E" + stages.front();
  stages.back() += "L";
  return layout_of(map, stages, random() % 2 == 0);
}

}  // namespace weft::testing
