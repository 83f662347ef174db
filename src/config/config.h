// Everything a user can set, as plain values. Names follow Megatron's flags (cli.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/model_extras.h"

namespace weft {

struct ModelConfig {
  std::optional<int> num_layers;  // decoder layers, noop layers included
  int hidden_size = 0;
  int ffn_hidden_size = 0;  // dense feed-forward; 0: 4 * hidden_size
  int num_attention_heads = 0;
  int num_query_groups = 0;  // kv heads; 0: num_attention_heads
  int kv_channels = 0;       // head size; 0: hidden_size / num_attention_heads
  int seq_length = 0;
  int vocab_size = 0;
  double rotary_base = 10000.0;
  double norm_epsilon = 1e-5;
  double init_method_std = 0.02;
  int num_experts = 0;  // 0: every layer is dense
  int moe_router_topk = 2;
  bool moe_router_pre_softmax = false;  // softmax over all experts, the chosen not renormalised
  int moe_ffn_hidden_size = 0;          // width of an expert; 0: ffn_hidden_size
  int moe_shared_expert_intermediate_size = 0;  // 0: none
  double moe_aux_loss_coeff = 0.0;
  double moe_z_loss_coeff = 0.0;
  int first_k_dense_replace = 0;  // the first k layers are dense
  std::string moe_layer_freq;     // "2": layer i is MoE if i % 2 == 0; or "[0,1,1]"
  std::string noop_layers;        // "0,31"
  int mtp_num_layers = 0;
  bool untie_embeddings_and_output_weights = false;
};

struct ParallelConfig {
  int pipeline_model_parallel_size = 1;
  int expert_model_parallel_size = 1;
  int tensor_model_parallel_size = 1;
  std::optional<int> data_parallel_size;  // ranks / (P * TP)
};

struct ScheduleConfig {
  std::string schedules_method;  // empty: the default of cli.md; or a name, or FILE.csv
  bool dualpipev_dw_detach = false;
  bool moe_fb_overlap = false;
  std::optional<int> num_microbatches;  // M, per data parallel rank
  std::optional<int> global_batch_size;
  std::optional<int> micro_batch_size;
  std::optional<int> num_virtual_stages_per_pipeline_rank;
  std::optional<int> num_layers_per_virtual_pipeline_stage;
  std::optional<int> decoder_first_pipeline_num_layers;  // layers of the first rank
  std::optional<int> decoder_last_pipeline_num_layers;   // of the last; under a V of these stages
  std::optional<int> microbatch_group_size_per_virtual_pipeline_stage;  // default P
  std::string pipeline_model_parallel_layout;
  // What a rank may hold at once.
  std::optional<int> max_live_chunks;
  std::optional<int> max_pending_wgrads;
  std::optional<double> max_activation_bytes;
  std::string placement;  // looped, v; layout only; empty: what the schedule needs
  bool overlap_grad_reduce = false;
  bool overlap_outside_steady = false;
};

struct TrainConfig {
  int train_iters = 0;
  double lr = 3e-4;
  double min_lr = 0.0;
  int lr_warmup_iters = 0;
  std::optional<int> lr_decay_iters;  // default: train_iters
  double weight_decay = 0.01;
  double clip_grad = 1.0;
  double adam_beta1 = 0.9;
  double adam_beta2 = 0.999;
  double adam_eps = 1e-8;
  std::int64_t seed = 1234;
  std::string params_dtype = "fp32";  // fp32, bf16, fp64
  std::string data_path;              // prefix of FILE.bin and FILE.idx
  std::string split = "969,30,1";     // train, validation, test, by documents
  std::string token_file;
  std::string save;
  int save_interval = 0;  // 0: at the end only
  std::string load;
  int eval_interval = 0;  // 0: never
  int eval_iters = 10;
  std::string metrics;
  std::string timeline;
  std::string save_gradients;
  bool log_digests = false;
  std::string costs;  // measured costs for weave and for the prediction
};

struct LaunchConfig {
  std::optional<int> local_ranks;
  std::string communicator = "gloo";  // gloo, nccl, threads
  std::string device = "cpu";         // cpu, cuda
  int distributed_timeout_seconds = 600;
  int threads_per_rank = 1;
};

// What a verb that shows something prints, and where to.
struct OutputConfig {
  std::string level = "compute";  // compute, transfers, steps
  std::string format;             // text, csv, json, svg, html; empty: the verb's own default
  std::string output;             // file instead of standard output
  bool events = false;
};

// Costs of a chunk in any one unit, where --costs names no file.
struct CostConfig {
  double cost_forward = 1;
  double cost_dgrad = 1;
  double cost_wgrad = 1;
  std::optional<double> cost_pair;  // default: forward + dgrad + wgrad
  double cost_p2p = 0;
};

struct DataConfig {
  std::string command;  // prepare
  std::string input;    // text file or folder
  std::string output_prefix;
  std::string tokenizer_type = "bytes";
  std::string suffix;       // of files in a folder; empty: all
  std::string exclude;      // name of folders that are passed over
  bool append_eod = false;  // token 256 after each document
};

struct ReportConfig {
  std::string predicted;  // timeline file to compare with
};

// What `weft plan` is asked beside the run itself.
struct PlanConfig {
  std::string model;                 // name, config.json, or its folder
  bool search = false;               // for the best way to lay the run out
  bool rules = false;                // show the table of the original's rules instead
  std::optional<double> memory_gib;  // of one rank
};

struct SampleConfig {
  std::string prompt;
  int max_new_tokens = 128;
  double temperature = 1.0;  // 0: the most likely token
  int top_k = 0;             // 0: all
};

struct Config {
  ModelConfig model;
  ModelExtras extras;  // by --model only
  ParallelConfig parallel;
  ScheduleConfig schedule;
  TrainConfig train;
  LaunchConfig launch;
  OutputConfig output;
  CostConfig cost;
  DataConfig data;
  ReportConfig report;
  PlanConfig plan;
  SampleConfig sample;
};

}  // namespace weft
