//===- NormDialect.td - the norm dialect ---------------------------------===//
//
// The dialect itself. Why this level exists is told in README.md beside this file.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_DIALECT_TD
#define NORM_DIALECT_TD

include "mlir/IR/DialectBase.td"

def Norm_Dialect : Dialect {
  let name = "norm";
  let cppNamespace = "::mlir::norm";
  let summary = "Normalizations and reductions as scalar programs over iteration spaces";
  let description = [{
    The level of algorithms. It has two forms:

    - *Named ops* (`norm.rms_norm`) on tensors, beside `arith` and `math`: what a user writes.
    - *Kernel form* (`norm.kernel`): an iteration space and a scalar program over it. An SSA value of the program
      stands for a function of the dims it varies over, so broadcasting is implicit. Only a few ops are the
      dialect's own: those that access memory (`norm.read`, `norm.write`, `norm.gather`, `norm.scatter`, `norm.cache`), and
      `norm.reduce` and `norm.scan`. Everything else is `arith` and `math`.

    How a kernel is spread over the machine is data: the `#norm.schedule` attribute on the kernel. Passes apply it;
    none of them knows which named op a kernel came from.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let extraClassDeclaration = [{
    /// Reports an op that the dialect does not have, with the one that was probably meant.
    std::optional<ParseOpHook> getParseOperationHook(::llvm::StringRef name) const override;
  }];
}

#endif // NORM_DIALECT_TD
