// One case for each numbered constraint of losses, named as in the verifier.
// RUN: norma-opt %s --split-input-file --verify-diagnostics

func.func @cross_entropy_c1(%x: tensor<2x4xf32>, %l: tensor<2xi64>) {
  // expected-error @+1 {{expected axes between -2 and 1, got 2}}
  %0 = norm.cross_entropy %x labels(%l : tensor<2xi64>) {axis = 2} : tensor<2x4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @cross_entropy_c2(%x: tensor<2x4xf32>, %l: tensor<4xi64>) {
  // expected-error @+1 {{expected labels to have the shape of the other axes of 'tensor<2x4xf32>', got 'tensor<4xi64>'}}
  %0 = norm.cross_entropy %x labels(%l : tensor<4xi64>) : tensor<2x4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @cross_entropy_c3(%x: tensor<2x4xf32>, %l: tensor<2xi64>, %w: tensor<2xf32>) {
  // expected-error @+1 {{expected weight to have the shape of the classes of 'tensor<2x4xf32>', got 'tensor<2xf32>'}}
  %0 = norm.cross_entropy %x labels(%l : tensor<2xi64>) weight(%w : tensor<2xf32>) : tensor<2x4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @cross_entropy_c4(%x: tensor<2x4xf32>, %l: tensor<2xi64>) {
  // expected-error @+1 {{expected loss to have the shape of the other axes of 'tensor<2x4xf32>', got 'tensor<f32>'}}
  %0 = norm.cross_entropy %x labels(%l : tensor<2xi64>) : tensor<2x4xf32> -> tensor<f32>
  return
}

// -----

func.func @cross_entropy_c4_lse(%x: tensor<2x4xf32>, %l: tensor<2xi64>) {
  // expected-error @+1 {{expected lse to have the shape of the other axes of 'tensor<2x4xf32>', got 'tensor<4xf32>'}}
  %0:2 = norm.cross_entropy %x labels(%l : tensor<2xi64>) : tensor<2x4xf32> -> tensor<2xf32> lse(tensor<4xf32>)
  return
}

// -----

func.func @cross_entropy_c4_row_weight(%x: tensor<2x4xf32>, %l: tensor<2xi64>) {
  // expected-error @+1 {{expected row_weight to have the shape of the other axes of 'tensor<2x4xf32>', got 'tensor<4xf32>'}}
  %0:2 = norm.cross_entropy %x labels(%l : tensor<2xi64>) : tensor<2x4xf32> -> tensor<2xf32> row_weight(tensor<4xf32>)
  return
}

// -----

func.func @cross_entropy_c5(%x: tensor<2x4xf32>, %l: tensor<2xi64>) {
  // expected-error @+1 {{expected dlogits to have the shape of 'tensor<2x4xf32>', got 'tensor<4x2xf32>'}}
  %0:2 = norm.cross_entropy %x labels(%l : tensor<2xi64>) : tensor<2x4xf32> -> tensor<2xf32> dlogits(tensor<4x2xf32>)
  return
}

// -----

func.func @cross_entropy_c6(%x: tensor<2x4xf32>, %l: tensor<2xi64>) {
  // expected-error @+1 {{expected label_smoothing between 0 and 1, got 1.5}}
  %0 = norm.cross_entropy %x labels(%l : tensor<2xi64>) {label_smoothing = 1.5 : f32} : tensor<2x4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @cross_entropy_c6_z_loss(%x: tensor<2x4xf32>, %l: tensor<2xi64>) {
  // expected-error @+1 {{expected z_loss to be finite and not negative, got -1.0}}
  %0 = norm.cross_entropy %x labels(%l : tensor<2xi64>) {z_loss = -1.0 : f32} : tensor<2x4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @cross_entropy_c6_softcap(%x: tensor<2x4xf32>, %l: tensor<2xi64>) {
  // expected-error @+1 {{expected softcap to be finite and not negative, got -1.0}}
  %0 = norm.cross_entropy %x labels(%l : tensor<2xi64>) {softcap = -1.0 : f32} : tensor<2x4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @cross_entropy_grad_c1(%x: tensor<2x4xf32>, %l: tensor<2xi64>, %g: tensor<2xf32>) {
  // expected-error @+1 {{expected axes between -2 and 1, got 2}}
  %0 = norm.cross_entropy_grad %x labels(%l : tensor<2xi64>) dloss(%g : tensor<2xf32>) {axis = 2} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @cross_entropy_grad_c2(%x: tensor<2x4xf32>, %l: tensor<4xi64>, %g: tensor<2xf32>) {
  // expected-error @+1 {{expected labels to have the shape of the other axes of 'tensor<2x4xf32>', got 'tensor<4xi64>'}}
  %0 = norm.cross_entropy_grad %x labels(%l : tensor<4xi64>) dloss(%g : tensor<2xf32>) : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @cross_entropy_grad_c2_dloss(%x: tensor<2x4xf32>, %l: tensor<2xi64>, %g: tensor<1xf32>) {
  // expected-error @+1 {{expected dloss to have the shape of the other axes of 'tensor<2x4xf32>', got 'tensor<1xf32>'}}
  %0 = norm.cross_entropy_grad %x labels(%l : tensor<2xi64>) dloss(%g : tensor<1xf32>) : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @cross_entropy_grad_c2_lse(%x: tensor<2x4xf32>, %l: tensor<2xi64>, %g: tensor<2xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{expected lse to have the shape of the other axes of 'tensor<2x4xf32>', got 'tensor<4xf32>'}}
  %0 = norm.cross_entropy_grad %x labels(%l : tensor<2xi64>) dloss(%g : tensor<2xf32>) lse(%s : tensor<4xf32>) : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @cross_entropy_grad_c3(%x: tensor<2x4xf32>, %l: tensor<2xi64>, %g: tensor<2xf32>, %w: tensor<2xf32>) {
  // expected-error @+1 {{expected weight to have the shape of the classes of 'tensor<2x4xf32>', got 'tensor<2xf32>'}}
  %0 = norm.cross_entropy_grad %x labels(%l : tensor<2xi64>) dloss(%g : tensor<2xf32>) weight(%w : tensor<2xf32>) : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @cross_entropy_grad_c4(%x: tensor<2x4xf32>, %l: tensor<2xi64>, %g: tensor<2xf32>) {
  // expected-error @+1 {{expected dlogits to have the shape of 'tensor<2x4xf32>', got 'tensor<4x2xf32>'}}
  %0 = norm.cross_entropy_grad %x labels(%l : tensor<2xi64>) dloss(%g : tensor<2xf32>) : tensor<2x4xf32> -> tensor<4x2xf32>
  return
}

// -----

func.func @cross_entropy_grad_c5(%x: tensor<2x4xf32>, %l: tensor<2xi64>, %g: tensor<2xf32>) {
  // expected-error @+1 {{expected label_smoothing between 0 and 1, got 1.5}}
  %0 = norm.cross_entropy_grad %x labels(%l : tensor<2xi64>) dloss(%g : tensor<2xf32>) {label_smoothing = 1.5 : f32} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @cross_entropy_c7(%x: tensor<2x4xf32>, %l: tensor<2xi64>) {
  // expected-error @+1 {{expected loss to have the shape of a number, which a reduction leaves, got 'tensor<2xf32>'}}
  %0 = norm.cross_entropy %x labels(%l : tensor<2xi64>) reduction(mean) : tensor<2x4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @cross_entropy_c8(%x: tensor<2x4xf32>, %l: tensor<2xi64>, %e: f32) {
  // expected-error @+1 {{expected label_smoothing either as an attribute or as an operand, got both}}
  %0 = norm.cross_entropy %x labels(%l : tensor<2xi64>) label_smoothing(%e) {label_smoothing = 0.5 : f32} : tensor<2x4xf32> -> tensor<2xf32>
  return
}
