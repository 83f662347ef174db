#include "train/trainer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "comm/current_action.h"
#include "config/derive.h"
#include "passes/live.h"
#include "simulate/simulate.h"
#include "timeline/measured_costs.h"
#include "timeline/write_timelines.h"
#include "train/checkpoint.h"
#include "train/dataset.h"
#include "train/digest.h"
#include "train/engine.h"
#include "train/gather.h"
#include "train/gradient_norm.h"
#include "train/lr_schedule.h"
#include "train/manifest.h"
#include "train/optimizer.h"
#include "train/progress.h"
#include "train/run_request.h"
#include "train/unsharded.h"
#include "train/wire_values.h"
#include "train/without_trace.h"

namespace weft {
namespace {

double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::unique_ptr<Rows> open_rows(const Config& config, SplitPart part) {
  const TrainConfig& train = config.train;
  if (!train.token_file.empty()) {
    return open_token_file(train.token_file, config.model.vocab_size, config.model.seq_length);
  }
  return open_indexed_rows({.prefix = train.data_path,
                            .split = train.split,
                            .part = part,
                            .sequence_length = config.model.seq_length,
                            .vocabulary = config.model.vocab_size,
                            .seed = train.seed,
                            .shuffle = part == SplitPart::Train});
}

std::int64_t largest(Group& world, std::int64_t mine) {
  std::int64_t most = mine;
  for (const std::string& bytes : gather_bytes(world, bytes_of(std::vector{mine}))) {
    most = std::max(most, values_of<std::int64_t>(bytes).front());
  }
  return most;
}

class Trainer {
 public:
  Trainer(const Config& config, const RunPlan& plan, Communicator& communicator)
      : config_(config),
        plan_(plan),
        engine_(config, plan, communicator),
        optimizer_(engine_.parameters(), config.train),
        learning_rate_(config.train),
        rows_(open_rows(config, SplitPart::Train)),
        shape_{plan.sizes.micro_batch_size, plan.sizes.num_micro_batches, plan.mesh.dp_size},
        is_first_(communicator.rank() == Rank(0)) {
    if (config.train.eval_interval > 0 && config.train.eval_iters > 0) {
      validation_ = open_rows(config, SplitPart::Validation);
    }
  }

  TrainResult run() {
    if (!config_.train.load.empty()) {
      set_current_action("loading " + config_.train.load);
      state_ = load_checkpoint(config_.train.load, engine_.parameters(), &optimizer_, world());
    }
    first_step_ = state_.step + 1;
    state_.seed = config_.train.seed;
    state_.config = saved_flags(config_);
    if (is_first_) open_outputs();
    if (is_first_) warn_of_later_iterations();
    if (is_first_ && state_.step >= config_.train.train_iters) {
      progress_->message("nothing to do: " + config_.train.load + " is at step " +
                         std::to_string(state_.step) + " and --train-iters is " +
                         std::to_string(config_.train.train_iters));
    }
    while (state_.step < config_.train.train_iters) {
      run_step();
      if (validation_ && due(config_.train.eval_interval)) evaluate();
      if (due(config_.train.save_interval) || is_last_to_save()) save();
    }
    if (is_first_) finish();
    return std::move(result_);
  }

 private:
  Group& world() { return *engine_.groups().world; }

  void open_outputs() {
    if (!config_.train.metrics.empty()) {
      metrics_ = std::make_unique<MetricsFile>(config_.train.metrics, state_.step);
    }
    progress_ = std::make_unique<Progress>(std::cerr, isatty(STDERR_FILENO) != 0, state_.step,
                                           config_.train.train_iters);
  }

  void warn_of_later_iterations() const {
    const std::vector<std::int64_t> steps = list_iterations(config_.train.save);
    const auto latest = std::max_element(steps.begin(), steps.end());
    if (latest == steps.end() || *latest <= state_.step) return;
    log_warning("--save " + config_.train.save + ": holds iterations up to " +
                std::to_string(*latest) + ", and this run starts after step " +
                std::to_string(state_.step) + ": what it saves again is replaced, and the newest " +
                "is then its own");
  }

  StepInput read(const Rows& rows, std::int64_t first_row) const {
    StepInput input;
    for (std::int64_t m = 0; m < shape_.num_micro_batches; ++m) {
      input.micro_batches.push_back(read_rows(
          rows, shape_.row_of(first_row, m, engine_.coordinates().dp), shape_.micro_batch_size));
    }
    input.valid_labels = count_valid_labels(rows, first_row, shape_.global_batch_size());
    return input;
  }

  void run_step() {
    const double start_ms = now_ms();
    set_current_action("reading step " + std::to_string(state_.step + 1));
    const StepInput input = read(*rows_, state_.consumed_rows);
    if (input.valid_labels == 0 && is_first_) {
      log_warning("step " + std::to_string(state_.step + 1) +
                  ": no label is counted, so its loss and gradients are zero");
    }
    const StepRecord record = engine_.forward_backward(input);
    StepMetrics metrics;
    if (config_.train.log_digests) {
      metrics.gradient_digest = gradient_digest(engine_.parameters(), world());
    }
    if (state_.step + 1 == first_step_ && !config_.train.save_gradients.empty()) {
      save_unsharded(config_.train.save_gradients, engine_.parameters(), &NamedSlice::grad,
                     world());
    }
    metrics.grad_norm = gradient_norm(engine_.parameters(), world());
    clip_gradients(engine_.parameters(), metrics.grad_norm, config_.train.clip_grad);
    metrics.learning_rate = learning_rate_(state_.step);
    optimizer_.step(metrics.learning_rate);
    metrics.step_ms = now_ms() - start_ms;
    if (config_.train.log_digests) {
      metrics.parameter_digest = parameter_digest(engine_.parameters(), world());
    }
    ++state_.step;
    state_.consumed_rows += shape_.global_batch_size();
    report(metrics, record);
  }

  void report(StepMetrics metrics, const StepRecord& record) {
    const std::int64_t peak = largest(world(), record.peak_activation_bytes);
    Timeline timeline = gather_timeline(world(), plan_, record.recording);
    if (!is_first_) return;
    const StepTimes times = step_times(timeline, metrics.step_ms);
    metrics.step = state_.step;
    metrics.loss = record.losses.loss;
    metrics.aux_loss = record.losses.aux_loss;
    metrics.tokens = shape_.global_batch_size() * config_.model.seq_length;
    metrics.tokens_per_second = 1e3 * static_cast<double>(metrics.tokens) / metrics.step_ms;
    metrics.all_to_all_ms = times.all_to_all_ms;
    metrics.all_to_all_exposed_ms = times.all_to_all_exposed_ms;
    metrics.all_to_all_hidden_steady = times.all_to_all_hidden_steady;
    metrics.all_to_all_hidden_outside = times.all_to_all_hidden_outside;
    metrics.counts_exposed_ms = times.counts_exposed_ms;
    metrics.p2p_exposed_ms = times.p2p_exposed_ms;
    metrics.bubble_ms = times.bubble_ms;
    metrics.peak_activation_bytes = peak;
    for (const LiveCounts& live : live_) {
      metrics.peak_live_chunks = std::max(metrics.peak_live_chunks, live.peak_live_chunks);
      metrics.max_pending_wgrads = std::max(metrics.max_pending_wgrads, live.max_pending_wgrads);
    }
    if (metrics_) metrics_->write(metrics);
    progress_->update(metrics.step, metrics.loss, metrics.tokens_per_second);
    if (result_.steps.size() < kCostSteps) cost_steps_.push_back(timeline);
    last_timeline_ = std::move(timeline);
    result_.steps.push_back(std::move(metrics));
    result_.times.push_back(times);
    if (result_.steps.size() == kCostSteps) predict();
  }

  // What the optimizer, the norm and reading take is outside the plan: the mean of the first steps.
  void predict() {
    Timeline predicted = simulate(plan_.steps, costs_from_timelines(cost_steps_));
    double outside_plan_ms = 0;
    for (std::size_t i = 0; i < result_.steps.size(); ++i) {
      outside_plan_ms += (result_.steps[i].step_ms - cost_steps_[i].ranks.front().end) /
                         static_cast<double>(result_.steps.size());
    }
    const double plan_ms = predicted.ranks.front().end;
    result_.predicted = step_times(predicted, plan_ms + outside_plan_ms);
    predicted_timeline_ = std::move(predicted);
  }

  bool due(int interval) const { return interval > 0 && state_.step % interval == 0; }

  bool is_last_to_save() const { return state_.step == config_.train.train_iters; }

  void save() {
    if (config_.train.save.empty()) return;
    set_current_action("saving step " + std::to_string(state_.step));
    save_checkpoint(config_.train.save, engine_.parameters(), optimizer_, state_, world());
    if (!is_first_) return;
    progress_->message("saved step " + std::to_string(state_.step) + " to " + config_.train.save);
  }

  void evaluate() {
    double loss = 0;
    set_current_action("evaluating after step " + std::to_string(state_.step));
    for (int i = 0; i < config_.train.eval_iters; ++i) {
      loss += engine_.evaluate(read(*validation_, i * shape_.global_batch_size())).loss;
    }
    if (!is_first_) return;
    progress_->message(fmt::format("validation loss after step {}: {:.4f}", state_.step,
                                   loss / config_.train.eval_iters));
  }

  void finish() {
    progress_->finish();
    if (result_.predicted && result_.times.size() > kCostSteps) {
      const bool crowded = static_cast<unsigned>(plan_.mesh.world_size()) * threads() >
                           std::thread::hardware_concurrency();
      // The steps that the prediction is for.
      const std::vector<StepTimes> later(result_.times.begin() + kCostSteps, result_.times.end());
      std::cerr << '\n' << print_step_table(later, *result_.predicted, crowded);
    }
    write_timeline();
  }

  unsigned threads() const { return static_cast<unsigned>(config_.launch.threads_per_rank); }

  void write_timeline() {
    const std::string& path = config_.train.timeline;
    if (path.empty() || result_.steps.empty()) return;
    write_timelines(path, {"Step " + std::to_string(state_.step) + ": " + schedule_title(config_),
                           state_.step, last_timeline_, predicted_timeline_});
  }

  const Config& config_;
  const RunPlan& plan_;
  Engine engine_;
  AdamW optimizer_;
  LearningRate learning_rate_;
  std::unique_ptr<Rows> rows_;
  std::unique_ptr<Rows> validation_;
  BatchShape shape_;
  bool is_first_;
  TrainState state_;
  std::int64_t first_step_ = 1;  // of this run
  std::vector<LiveCounts> live_ = count_live(compute_level(plan_.schedule));
  // Rank 0 only.
  std::unique_ptr<MetricsFile> metrics_;
  std::unique_ptr<Progress> progress_;
  std::vector<Timeline> cost_steps_;
  Timeline last_timeline_;
  std::optional<Timeline> predicted_timeline_;
  TrainResult result_;
};

}  // namespace

TrainResult train(const Config& config, const RunPlan& plan, Communicator& communicator) {
  return without_trace([&] { return Trainer(config, plan, communicator).run(); });
}

}  // namespace weft
