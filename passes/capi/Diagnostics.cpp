//===- Diagnostics.cpp - Diagnostics with notes and source lines ------------===//
//
// Why this file exists: the C API's mlirEmitError emits errors only, without
// notes, and the C API has no source manager, without which a diagnostic
// cannot show the line it points at.
//
//===----------------------------------------------------------------------===//

#include "mlir-c/Diagnostics.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>
#include <string>

using namespace mlir;

extern "C" {

struct NormaNote {
  MlirLocation location;
  MlirStringRef text;
};

/// Receives rendered text: a whole diagnostic or a part of one.
using NormaWrite = void (*)(MlirStringRef text, void *userData);

} // extern "C"

/// Emits a diagnostic through the context's handlers. `severity` is a value of
/// MlirDiagnosticSeverity.
extern "C" void normaEmit(MlirLocation location, int32_t severity,
                          MlirStringRef text, const NormaNote *notes,
                          intptr_t noteCount) {
  DiagnosticSeverity kind = DiagnosticSeverity::Error;
  switch (severity) {
  case MlirDiagnosticWarning:
    kind = DiagnosticSeverity::Warning;
    break;
  case MlirDiagnosticNote:
    kind = DiagnosticSeverity::Note;
    break;
  case MlirDiagnosticRemark:
    kind = DiagnosticSeverity::Remark;
    break;
  default:
    break;
  }
  Location at = unwrap(location);
  InFlightDiagnostic diagnostic =
      at->getContext()->getDiagEngine().emit(at, kind);
  diagnostic << unwrap(text);
  for (const NormaNote &note : ArrayRef<NormaNote>(notes, noteCount))
    diagnostic.attachNote(unwrap(note.location)) << unwrap(note.text);
}

namespace {

/// An unbuffered stream into a Rust callback.
class CallbackStream : public llvm::raw_ostream {
public:
  CallbackStream(NormaWrite write, void *userData)
      : raw_ostream(/*unbuffered=*/true), write(write), userData(userData) {}

private:
  void write_impl(const char *data, size_t size) override {
    write(wrap(StringRef(data, size)), userData);
    position += size;
  }
  uint64_t current_pos() const override { return position; }

  NormaWrite write;
  void *userData;
  uint64_t position = 0;
};

/// A source text and the handler that renders every diagnostic of its context
/// against it. Members are declared in the order in which they depend on one
/// another.
struct Source {
  Source(MLIRContext *context, StringRef text, StringRef name, bool remarks,
         bool lines, NormaWrite write, void *userData)
      : stream(write, userData),
        handler(lines ? manager : withoutLines, context, stream),
        quiet(context, [=, this](Diagnostic &diagnostic) {
          hasFault |= diagnostic.getSeverity() == DiagnosticSeverity::Error &&
                      StringRef(diagnostic.str())
                          .starts_with("internal compiler error");
          return success(!remarks && diagnostic.getSeverity() ==
                                         DiagnosticSeverity::Remark);
        }) {
    // The handler shows the user's own line. Printing the op too would repeat
    // it in generic form, which the user did not write.
    context->printOpOnDiagnostic(false);
    manager.AddNewSourceBuffer(
        llvm::MemoryBuffer::getMemBufferCopy(text, name), llvm::SMLoc());
  }

  llvm::SourceMgr manager;
  /// Has no text: diagnostics that are rendered against it show their places
  /// alone.
  llvm::SourceMgr withoutLines;
  CallbackStream stream;
  SourceMgrDiagnosticHandler handler;
  /// Whether an error says that the compiler is at fault.
  bool hasFault = false;
  /// Installed last and so asked first: keeps remarks from the handler above.
  ScopedDiagnosticHandler quiet;
};

} // namespace

/// Installs the handler; it stays until normaSourceDestroy. Remarks are
/// rendered if `remarks`, and the lines that diagnostics point at if `lines`.
/// `context` must outlive the result.
extern "C" void *normaSourceCreate(MlirContext context, MlirStringRef text,
                                   MlirStringRef name, bool remarks, bool lines,
                                   NormaWrite write, void *userData) {
  return new Source(unwrap(context), unwrap(text), unwrap(name), remarks, lines,
                    write, userData);
}

/// Parses and verifies the source as a module; returns null on failure, with
/// the diagnostics already written.
extern "C" MlirModule normaSourceParse(void *source, MlirContext context) {
  ParserConfig config(unwrap(context));
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(
      static_cast<Source *>(source)->manager, config);
  return MlirModule{module.release().getOperation()};
}

/// Returns whether an error since the source's creation says that the compiler
/// is at fault.
extern "C" bool normaSourceHasFault(void *source) {
  return static_cast<Source *>(source)->hasFault;
}

extern "C" void normaSourceDestroy(void *source) {
  delete static_cast<Source *>(source);
}
