//===- Driver.cpp - The drivers that MLIR ships ------------------------------===//
//
// Why this file exists: the C API reaches neither the drivers behind mlir-opt
// and mlir-lsp-server nor the interfaces that upstream dialects attach to one
// another, and mlirRegisterAllDialects would load and link everything.
//
//===----------------------------------------------------------------------===//

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/LLVMIR/Transforms/InlinerInterfaceImpl.h"
#include "mlir/Target/LLVM/NVVM/Target.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/WithColor.h"

#include <cstdlib>
#include <system_error>

using namespace mlir;

/// Attaches the interfaces that conversion to LLVM, inlining, and translation
/// to LLVM IR need to the upstream dialects of `registry`.
extern "C" void normaRegisterUpstreamExtensions(MlirDialectRegistry handle) {
  DialectRegistry &registry = *unwrap(handle);
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  registerConvertFuncToLLVMInterface(registry);
  NVVM::registerConvertGpuToNVVMInterface(registry);
  index::registerConvertIndexToLLVMInterface(registry);
  registerConvertMathToLLVMInterface(registry);
  registerConvertMemRefToLLVMInterface(registry);
  registerConvertNVVMToLLVMInterface(registry);
  ub::registerConvertUBToLLVMInterface(registry);
  vector::registerConvertVectorToLLVMInterface(registry);
  func::registerInlinerExtension(registry);
  LLVM::registerInlinerInterface(registry);
  NVVM::registerInlinerInterface(registry);
  NVVM::registerNVVMTargetInterfaceExternalModels(registry);
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

/// Whether a stream gets colours: as LLVM decides, but none if NO_COLOR is set.
static bool hasColors(const llvm::raw_ostream &stream) {
  const char *none = std::getenv("NO_COLOR");
  if (none && *none)
    return false;
  return llvm::WithColor::defaultAutoDetectFunction()(stream);
}

/// Makes diagnostics show the line of the source alone unless an option asks
/// for the op too, which MLIR would print in generic form.
static void hideOpsOfDiagnostics() {
  registerMLIRContextCLOptions();
  llvm::cl::Option *option =
      llvm::cl::getRegisteredOptions().lookup("mlir-print-op-on-diagnostic");
  if (option)
    static_cast<llvm::cl::opt<bool> *>(option)->setInitialValue(false);
}

/// Why a file cannot be read, if it is missing, a folder, or forbidden. Pipes
/// are not opened, because what they hold can be read only once.
static std::error_code whyUnreadable(llvm::StringRef path) {
  llvm::sys::fs::file_status status;
  if (std::error_code error = llvm::sys::fs::status(path, status))
    return error;
  if (llvm::sys::fs::is_directory(status))
    return std::make_error_code(std::errc::is_a_directory);
  if (!llvm::sys::fs::is_regular_file(status))
    return {};
  int file;
  if (std::error_code error = llvm::sys::fs::openFileForRead(path, file))
    return error;
  return llvm::sys::Process::SafelyCloseFileDescriptor(file);
}

/// Runs mlir-opt's main over the registered passes; returns the exit code.
extern "C" int normaOptMain(int argc, char **argv, MlirStringRef name,
                            MlirDialectRegistry registry) {
  llvm::WithColor::setAutoDetectFunction(hasColors);
  hideOpsOfDiagnostics();
  auto [input, output] =
      registerAndParseCLIOptions(argc, argv, unwrap(name), *unwrap(registry));
  // MLIR's own message for such a file does not begin with `error:`.
  if (std::error_code error = input == "-" ? std::error_code()
                                           : whyUnreadable(input)) {
    llvm::WithColor::error() << "cannot open input file '" << input
                             << "': " << error.message() << "\n";
    return EXIT_FAILURE;
  }
  return asMainReturnCode(
      MlirOptMain(argc, argv, input, output, *unwrap(registry)));
}

/// Runs mlir-lsp-server's main; returns the exit code.
extern "C" int normaLspServerMain(int argc, char **argv,
                                  MlirDialectRegistry registry) {
  return asMainReturnCode(MlirLspServerMain(argc, argv, *unwrap(registry)));
}
