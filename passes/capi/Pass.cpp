//===- Pass.cpp - Rust passes as ordinary MLIR passes -----------------------===//
//
// Why this file exists: the C API of LLVM 22 can create an external pass but
// not register one, so such a pass has no argument, no options, and no place
// in a textual pipeline. `RustPass` is one subclass of `mlir::Pass` for every
// pass of Passes.td: it makes real options and statistics from a description
// that Rust hands over once, so that --pass-pipeline, --help, pipeline dumps,
// crash reproducers and statistics know a Rust pass as they know any other.
//
// A description is copied at registration and lives as long as the process,
// as MLIR's global pass registry does.
//
//===----------------------------------------------------------------------===//

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include <memory>
#include <string>
#include <vector>

using namespace mlir;

extern "C" {

enum NormaOptionKind : int32_t {
  NormaOptionInteger = 0,
  NormaOptionBool = 1,
  NormaOptionString = 2,
  NormaOptionIntegerList = 3,
};

/// Declares one option. A list has no default but the empty list.
struct NormaOption {
  MlirStringRef argument;
  MlirStringRef description;
  NormaOptionKind kind;
  int64_t defaultInteger;
  MlirStringRef defaultString;
};

struct NormaStatistic {
  MlirStringRef name;
  MlirStringRef description;
};

/// The value of one option during a run; only the fields of its kind are set.
struct NormaOptionValue {
  int64_t integer;
  MlirStringRef string;
  const int64_t *list;
  intptr_t listSize;
};

/// Runs the pass; false means failure, already reported as a diagnostic.
/// `pass` is valid during the call only and is what normaPassCount takes.
using NormaPassRun = bool (*)(MlirOperation op, const NormaOptionValue *options,
                              void *pass);

struct NormaPass {
  MlirStringRef name;
  MlirStringRef argument;
  MlirStringRef summary;
  /// Op name that the pass is anchored on; empty for any op.
  MlirStringRef anchor;
  const NormaOption *options;
  intptr_t optionCount;
  const NormaStatistic *statistics;
  intptr_t statisticCount;
  MlirDialectHandle (*const *dialects)(void);
  intptr_t dialectCount;
  NormaPassRun run;
};

} // extern "C"

namespace {

struct OptionDescription {
  std::string argument, description, defaultString;
  NormaOptionKind kind;
  int64_t defaultInteger;
};

struct StatisticDescription {
  std::string name, description;
};

/// An owned copy of a NormaPass.
struct PassDescription {
  std::string name, argument, summary, anchor;
  std::vector<OptionDescription> options;
  std::vector<StatisticDescription> statistics;
  std::vector<MlirDialectHandle (*)(void)> dialects;
  NormaPassRun run;
  TypeID id;
};

std::string toString(MlirStringRef text) { return unwrap(text).str(); }

class RustPass : public Pass {
public:
  explicit RustPass(const PassDescription &description)
      : Pass(description.id,
             description.anchor.empty()
                 ? std::nullopt
                 : std::optional<StringRef>(description.anchor)),
        description(description) {
    for (const OptionDescription &option : description.options) {
      switch (option.kind) {
      case NormaOptionInteger:
        integers.push_back(std::make_unique<Option<int64_t>>(
            *this, option.argument, llvm::cl::desc(option.description),
            llvm::cl::init(option.defaultInteger)));
        break;
      case NormaOptionBool:
        bools.push_back(std::make_unique<Option<bool>>(
            *this, option.argument, llvm::cl::desc(option.description),
            llvm::cl::init(option.defaultInteger != 0)));
        break;
      case NormaOptionString:
        strings.push_back(std::make_unique<Option<std::string>>(
            *this, option.argument, llvm::cl::desc(option.description),
            llvm::cl::init(option.defaultString)));
        break;
      case NormaOptionIntegerList:
        lists.push_back(std::make_unique<ListOption<int64_t>>(
            *this, option.argument, llvm::cl::desc(option.description)));
        break;
      }
    }
    for (const StatisticDescription &statistic : description.statistics)
      counters.push_back(std::make_unique<Statistic>(
          this, statistic.name.c_str(), statistic.description.c_str()));
  }

  StringRef getName() const override { return description.name; }
  StringRef getArgument() const override { return description.argument; }
  StringRef getDescription() const override { return description.summary; }

  void getDependentDialects(DialectRegistry &registry) const override {
    for (auto handle : description.dialects)
      mlirDialectHandleInsertDialect(handle(), wrap(&registry));
  }

  bool canScheduleOn(RegisteredOperationName name) const override {
    return description.anchor.empty() ||
           name.getStringRef() == description.anchor;
  }

  std::unique_ptr<Pass> clonePass() const override {
    return std::make_unique<RustPass>(description);
  }

  void runOnOperation() override {
    std::vector<NormaOptionValue> values;
    values.reserve(description.options.size());
    size_t integer = 0, boolean = 0, string = 0, list = 0;
    for (const OptionDescription &option : description.options) {
      NormaOptionValue value = {};
      switch (option.kind) {
      case NormaOptionInteger:
        value.integer = integers[integer++]->getValue();
        break;
      case NormaOptionBool:
        value.integer = bools[boolean++]->getValue();
        break;
      case NormaOptionString:
        value.string = wrap(StringRef(strings[string++]->getValue()));
        break;
      case NormaOptionIntegerList: {
        ArrayRef<int64_t> elements = **lists[list++];
        value.list = elements.data();
        value.listSize = elements.size();
        break;
      }
      }
      values.push_back(value);
    }
    if (!description.run(wrap(getOperation()), values.data(), this))
      signalPassFailure();
  }

  void count(intptr_t statistic, uint64_t amount) {
    *counters[statistic] += amount;
  }

  LogicalResult runNested(StringRef pipeline, Operation *op) {
    OpPassManager manager(op->getName().getStringRef());
    if (failed(parsePassPipeline(pipeline, manager)))
      return failure();
    return runPipeline(manager, op);
  }

private:
  const PassDescription &description;
  // Options register themselves with the pass by address, so each is boxed.
  // There is one list for each kind, in table order.
  std::vector<std::unique_ptr<Option<int64_t>>> integers;
  std::vector<std::unique_ptr<Option<bool>>> bools;
  std::vector<std::unique_ptr<Option<std::string>>> strings;
  std::vector<std::unique_ptr<ListOption<int64_t>>> lists;
  std::vector<std::unique_ptr<Statistic>> counters;
};

} // namespace

/// Adds a pass to MLIR's global registry. To be called once for each pass,
/// before any pipeline is parsed; not thread-safe, as the registry is not.
extern "C" void normaRegisterPass(const NormaPass *pass) {
  static TypeIDAllocator ids;
  auto description = std::make_shared<PassDescription>();
  description->name = toString(pass->name);
  description->argument = toString(pass->argument);
  description->summary = toString(pass->summary);
  description->anchor = toString(pass->anchor);
  for (const NormaOption &option :
       ArrayRef<NormaOption>(pass->options, pass->optionCount))
    description->options.push_back(
        {toString(option.argument), toString(option.description),
         toString(option.defaultString), option.kind, option.defaultInteger});
  for (const NormaStatistic &statistic :
       ArrayRef<NormaStatistic>(pass->statistics, pass->statisticCount))
    description->statistics.push_back(
        {toString(statistic.name), toString(statistic.description)});
  description->dialects.assign(pass->dialects,
                               pass->dialects + pass->dialectCount);
  description->run = pass->run;
  description->id = ids.allocate();
  registerPass(
      [description] { return std::make_unique<RustPass>(*description); });
}

/// Adds `amount` to a statistic, by its position in the table. MLIR drops the
/// count where LLVM was built without statistics, as distribution packages are.
extern "C" void normaPassCount(void *pass, intptr_t statistic,
                               uint64_t amount) {
  static_cast<RustPass *>(pass)->count(statistic, amount);
}

/// Runs a textual pipeline on `op`, which is the pass's own op or nested in it.
extern "C" bool normaPassRunPipeline(void *pass, MlirStringRef pipeline,
                                     MlirOperation op) {
  return succeeded(
      static_cast<RustPass *>(pass)->runNested(unwrap(pipeline), unwrap(op)));
}

/// Registers a textual pipeline under a name of its own, so that drivers take
/// `--<argument>` and `--pass-pipeline` may name it. `pipeline` is anchored on
/// builtin.module and written without the `builtin.module(...)` around it. Its
/// text is parsed when the pipeline is used, so registration order is free.
extern "C" void normaRegisterPassPipeline(MlirStringRef argument,
                                          MlirStringRef description,
                                          MlirStringRef pipeline) {
  registerPassPipeline(
      unwrap(argument), unwrap(description),
      [text = toString(pipeline)](
          OpPassManager &manager, StringRef options,
          function_ref<LogicalResult(const Twine &)> error) -> LogicalResult {
        if (!options.empty())
          return error("this pipeline takes no options, got '" + options + "'");
        return parsePassPipeline(text, manager);
      },
      [](function_ref<void(const detail::PassOptions &)>) {});
}
