/* tinyllm.h: every C contract of the course in one include. */
#ifndef TINYLLM_H
#define TINYLLM_H

#include "tinyllm/abi.h"
#include "tinyllm/arena.h"
#include "tinyllm/pool.h"
#include "tinyllm/kv_pool.h"
#include "tinyllm/numerics.h"
#include "tinyllm/softmax.h"
#include "tinyllm/attention.h"

#endif
