#include "tiny.h"

float tiny_square(float x) { return x * x; }
