// Compiled with the headers of Debian's llvm-19-dev. Objects of its archives that were not rebuilt declare these
// instantiations `extern`; the stock Support that defines them is not linked.
#include "llvm/Support/CommandLine.h"

template class llvm::cl::opt<unsigned>;
template class llvm::cl::opt<int>;
template class llvm::cl::opt<std::string>;
template class llvm::cl::opt<char>;
template class llvm::cl::opt<bool>;
