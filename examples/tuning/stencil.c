// Steps of heat on a plane: each point takes in what its four neighbours conduct. Two planes take turns, and the result
// is in the first. Only what is inlined becomes vectors: LLVM inlines `conduct` because the loop is hot
// (-locally-hot-callsite-threshold).
#include <stddef.h>

enum { ROWS = 32, COLUMNS = 128, STEPS = 4 };

// How much flows: a rational function of the difference, slower where it is warm, limited to a quarter of the sum.
static float conduct(float here, float there, float rate) {
  float x = there - here;
  float y = x * x;
  float above = x * (1.0f + y * (0.083f + y * (0.0061f + y * (0.00037f + y * (0.000021f + y * 0.0000011f)))));
  float below = 1.0f + y * (0.37f + y * (0.048f + y * (0.0029f + y * (0.00011f + y * 0.0000041f))));
  float warm = here * there;
  float slow = 1.0f + warm * (0.5f + warm * (0.12f + warm * (0.021f + warm * (0.0032f + warm * 0.00041f))));
  float damp = 1.0f + warm * (0.25f + warm * (0.033f + warm * (0.0043f + warm * (0.00052f + warm * 0.000061f))));
  float flow = rate * above * damp / (below * slow);
  float most = 0.25f * (here + there);
  flow = flow > most ? most : flow;
  return flow < -most ? -most : flow;
}

static void step(float *restrict to, const float *restrict from, float rate) {
  for (size_t row = 1; row < ROWS - 1; row++)
    for (size_t column = 1; column < COLUMNS - 1; column++) {
      const float *at = &from[row * COLUMNS + column];
      float flow = conduct(at[0], at[-COLUMNS], rate) + conduct(at[0], at[COLUMNS], rate);
      flow += conduct(at[0], at[-1], rate) + conduct(at[0], at[1], rate);
      to[row * COLUMNS + column] = at[0] + flow;
    }
}

void stencil(float *restrict plane, float *restrict other, float rate) {
  for (int done = 0; done < STEPS; done += 2) {
    step(other, plane, rate);
    step(plane, other, rate);
  }
}
