#include <nlohmann/json.hpp>

#include "estimate/run_report.h"
#include "schedule/text.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const ParameterCount& count) {
  return {{"total", count.total()},
          {"embedding", count.embedding},
          {"attention", count.attention},
          {"dense_ffn", count.dense_ffn},
          {"router", count.router},
          {"experts", count.experts},
          {"shared_expert", count.shared_expert},
          {"norms", count.norms},
          {"head", count.head},
          {"mtp", count.mtp + count.mtp_experts}};
}

std::string kinds_text(const std::vector<LayerKind>& layers) {
  std::string text;
  for (const LayerKind kind : layers) {
    text += kind == LayerKind::Moe ? 'm' : (kind == LayerKind::Dense ? 'd' : '-');
  }
  return text;
}

Json json_of(const ModelReport& model) {
  const ModelSizes& sizes = model.sizes;
  Json json;
  json["source"] = model.source.empty() ? Json(nullptr) : Json(model.source);
  json["hidden_size"] = sizes.hidden;
  json["seq_length"] = sizes.sequence;
  json["vocab_size"] = sizes.vocabulary;
  json["num_experts"] = sizes.experts;
  json["moe_router_topk"] = sizes.experts > 0 ? sizes.topk : 0;
  json["layers"] = kinds_text(model.layers);
  json["parameters"] = json_of(model.total);
  json["active_parameters"] = json_of(model.active);
  json["flops_per_token"] = {{"forward", model.flops.forward()},
                             {"training", model.flops.training()},
                             {"products", model.flops.products},
                             {"attention", model.flops.attention},
                             {"head", model.flops.head}};
  json["untrained"] = model.untrained;
  return json;
}

Json json_of(const PlannedRank& rank) {
  Json json;
  json["rank"] = rank.rank;
  json["stages"] = rank.stages;
  json["layout"] = rank.texts;
  json["layers"] = {{"dense", rank.dense_layers},
                    {"moe", rank.moe_layers},
                    {"noop", rank.noop_layers},
                    {"mtp", rank.mtp_layers}};
  json["parameters"] = json_of(rank.parameters);
  json["bytes"] = {{"total", rank.memory.total()},
                   {"weights", rank.memory.weights},
                   {"gradients", rank.memory.gradients},
                   {"optimizer", rank.memory.optimizer},
                   {"activations", rank.memory.activations}};
  json["activation_peak"] = {{"step", rank.peak.step},
                             {"cell", rank.peak.cell},
                             {"time", rank.peak.time},
                             {"live_chunks", rank.peak.live_chunks},
                             {"pending_wgrads", rank.peak.pending_wgrads}};
  json["wires"] = Json::object();
  for (const auto& [kind, traffic] : rank.traffic) {
    json["wires"][std::string(wire_name(kind))] = {{"wires", traffic.wires},
                                                   {"bytes", traffic.bytes}};
  }
  const RankMetrics& times = rank.times;
  json["times"] = {{"busy", times.busy},
                   {"idle", times.idle},
                   {"bubble", times.bubble},
                   {"exposed_communication", times.exposed_communication},
                   {"all_to_all", times.all_to_all},
                   {"all_to_all_exposed", times.all_to_all_exposed},
                   {"counts_exposed", times.counts_exposed},
                   {"p2p_exposed", times.p2p_exposed},
                   {"reduce_exposed", times.reduce_exposed}};
  return json;
}

Json optional_number(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json json_of(const StepReport& step) {
  return {{"unit", step.unit},
          {"costs", step.costs},
          {"makespan", step.makespan},
          {"tokens", step.tokens},
          {"tokens_per_second", optional_number(step.tokens_per_second)},
          {"all_to_all_hidden_steady", optional_number(step.all_to_all_hidden_steady)},
          {"all_to_all_hidden_outside", optional_number(step.all_to_all_hidden_outside)}};
}

}  // namespace

std::string report_json(const RunReport& report) {
  Json json;
  json["model"] = json_of(report.model);
  json["schedule"] = report.schedule;
  json["sizes"] = {{"ranks", report.mesh.world_size()},
                   {"pipeline_parallel", report.mesh.pp_size},
                   {"data_parallel", report.mesh.dp_size},
                   {"expert_parallel", report.mesh.ep_size},
                   {"tensor_parallel", report.mesh.tp_size},
                   {"micro_batch_size", report.batch.micro_batch_size},
                   {"num_microbatches", report.batch.num_micro_batches},
                   {"global_batch_size", report.batch.global_batch_size},
                   {"params_dtype", report.params_dtype}};
  json["groups"] = Json::array();
  for (const GroupReport& group : report.groups) {
    json["groups"].push_back({{"name", group.name},
                              {"size", group.size},
                              {"purpose", group.purpose},
                              {"members", group.members}});
  }
  json["ranks"] = Json::array();
  for (const PlannedRank& rank : report.ranks) json["ranks"].push_back(json_of(rank));
  json["tied_embedding_bytes"] = report.tied_bytes;
  json["step"] = json_of(report.step);
  json["memory_gib"] = optional_number(report.memory_gib);
  json["bent_rules"] = Json::array();
  for (const BentRule& bent : report.bent) {
    json["bent_rules"].push_back({{"rule", bent.rule},
                                  {"feature", bent.feature},
                                  {"found", bent.found},
                                  {"original", bent.original},
                                  {"weft", bent.weft}});
  }
  json["script_flags"] = print_script_flags(report.script);
  json["notes"] = report.notes;
  json["values"] = Json::array();
  for (const ValueSource& value : report.values) {
    Json entry = {{"flag", value.flag}, {"value", value.value}, {"origin", value.origin}};
    if (!value.place.empty()) entry["place"] = value.place;
    if (!value.overrides.empty()) entry["overrides"] = value.overrides;
    json["values"].push_back(std::move(entry));
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace weft
