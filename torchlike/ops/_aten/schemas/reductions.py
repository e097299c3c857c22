"""Over dimensions: sums, extremes, sorting: aten's operators (see ``schemas/__init__.py``)."""

TEXT = """
_logcumsumexp(self, int dim)
all any(self)  >all_out
all any .dim(self, int dim, bool keepdim=False)  >out
all any .dims(self, int[]? dim=None, bool keepdim=False)
amax amin(self, int[1] dim=[], bool keepdim=False)
aminmax(self, *, int? dim=None, bool keepdim=False) -> (Tensor, Tensor)
argmax argmin(self, int? dim=None, bool keepdim=False)  >
argsort(self, int dim=-1, bool descending=False)  !c
argsort .stable(self, *, bool stable, int dim=-1, bool descending=False)  !c >
cummax cummin(self, int dim) -> (Tensor, Tensor)
cumprod cumsum(self, int dim, *, ScalarType? dtype=None)  !i >
cumulative_trapezoid trapezoid trapz .x(y, x, *, int dim=-1)  !c
cumulative_trapezoid trapezoid .dx(y, *, Scalar dx=1, int dim=-1)  !c
diff(self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None)  !c >
dim(self) -> int  !c
gradient .scalarint(self, *, Scalar? spacing=None, int? dim=None, int edge_order=1) -> Tensor[]
    !c
gradient .scalararray(self, *, Scalar spacing, int[] dim, int edge_order=1) -> Tensor[]  !c
gradient .array(self, *, int[] dim, int edge_order=1) -> Tensor[]  !c
gradient .scalarrayint(self, *, Scalar[] spacing, int? dim=None, int edge_order=1) -> Tensor[]  !c
gradient .scalarrayarray(self, *, Scalar[] spacing, int[] dim, int edge_order=1) -> Tensor[]  !c
gradient .tensorarrayint(self, *, Tensor[] spacing, int? dim=None, int edge_order=1) -> Tensor[]
    !c
gradient .tensorarray(self, *, Tensor[] spacing, int[] dim, int edge_order=1) -> Tensor[]  !c
hash_tensor(self, int[1] dim=[], *, bool keepdim=False, int mode=0)
kthvalue(self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor, Tensor)
logcumsumexp(self, int dim)  >
logsumexp(self, int[1] dim, bool keepdim=False)  >
max min .other(self, other)  !c >out
max median min(self)
max median min nanmedian .dim(self, int dim, bool keepdim=False) -> (Tensor, Tensor)
mean(self, *, ScalarType? dtype=None)  >dtype_out
mean .dim(self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None)  >out
mode(self, int dim=-1, bool keepdim=False) -> (Tensor, Tensor)
nanmean(self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)  !c >
nansum(self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)  >
prod sum(self, *, ScalarType? dtype=None)  >
prod .dim_int(self, int dim, bool keepdim=False, *, ScalarType? dtype=None)  >int_out
sort(self, int dim=-1, bool descending=False) -> (Tensor, Tensor)
sort .stable(self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor, Tensor)
special_logsumexp(self, int[1] dim, bool keepdim=False)  !c >
std var(self, bool unbiased=True)  !c
std var .dim(self, int[1]? dim, bool unbiased=True, bool keepdim=False)  !c >out
std var .correction(self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False)  >
std_mean var_mean .dim(self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor,
    Tensor)  !c
std_mean var_mean .correction(self, int[1]? dim=None, *, Scalar? correction=None, bool
    keepdim=False) -> (Tensor, Tensor)
sum .dim_IntList(self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None)  >IntList_out
sym_size sym_stride .int(self, int dim) -> SymInt  !c
trapz .dx(y, *, float dx=1., int dim=-1)  !c
unique_consecutive(self, bool return_inverse=False, bool return_counts=False, int? dim=None) ->
    (Tensor, Tensor, Tensor)
unique_dim(self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False)
    -> (Tensor, Tensor, Tensor)
"""
