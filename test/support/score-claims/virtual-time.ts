interface Timer {
  readonly atMs: number
  readonly order: number
  readonly run: () => void
  isCleared: boolean
}

const flush = globalThis.setImmediate

/**
 * Time that passes only when nothing is left to do: `setTimeout`, `performance.now` and
 * `Math.random` of the whole process, from a seed. Microtasks end before the next timer.
 */
export class VirtualTime {
  nowMs = 1_000_000
  private readonly heap: Timer[] = []
  private orders = 0
  private state: number
  private readonly real = {
    setTimeout: globalThis.setTimeout,
    clearTimeout: globalThis.clearTimeout,
    now: performance.now,
    random: Math.random,
  }

  constructor(seed: number) {
    this.state = (seed * 2_654_435_761) >>> 0
    const set = (run: () => void, inMs = 0) => {
      const timer = this.at(this.nowMs + Math.max(inMs, 0), run)
      return Object.assign(timer, { unref: () => timer, ref: () => timer })
    }
    Object.assign(globalThis, {
      setTimeout: set,
      clearTimeout: (timer?: Timer) => {
        if (timer !== undefined && timer !== null) timer.isCleared = true
      },
    })
    performance.now = () => this.nowMs
    Math.random = () => this.random()
  }

  restore(): void {
    const { setTimeout, clearTimeout, now, random } = this.real
    Object.assign(globalThis, { setTimeout, clearTimeout })
    performance.now = now
    Math.random = random
  }

  /** Mulberry32. */
  random(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0
    let bits = this.state
    bits = Math.imul(bits ^ (bits >>> 15), bits | 1)
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61)
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
  }

  between(min: number, max: number): number {
    return min + (max - min) * this.random()
  }

  chance(share: number): boolean {
    return this.random() < share
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.random() * items.length)] as T
  }

  at(atMs: number, run: () => void): Timer {
    const timer = { atMs, order: this.orders++, run, isCleared: false }
    const { heap } = this
    let at = heap.push(timer) - 1
    while (at > 0) {
      const up = (at - 1) >> 1
      if (!isBefore(timer, heap[up] as Timer)) break
      heap[at] = heap[up] as Timer
      at = up
    }
    heap[at] = timer
    return timer
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.at(this.nowMs + ms, resolve))
  }

  /** Lets time pass. `onStep` is called after each moment at which something happened. */
  async runUntil(untilMs: number, onStep: () => void): Promise<void> {
    for (;;) {
      await new Promise<void>((resolve) => void flush(resolve))
      onStep()
      const next = this.heap[0]
      if (next === undefined || next.atMs > untilMs) break
      this.pop()
      if (next.isCleared) continue
      this.nowMs = Math.max(this.nowMs, next.atMs)
      next.run()
    }
    this.nowMs = untilMs
  }

  private pop(): void {
    const { heap } = this
    const last = heap.pop() as Timer
    if (heap.length === 0) return
    let at = 0
    for (;;) {
      let down = 2 * at + 1
      if (down >= heap.length) break
      const right = heap[down + 1]
      if (right !== undefined && isBefore(right, heap[down] as Timer)) down++
      if (!isBefore(heap[down] as Timer, last)) break
      heap[at] = heap[down] as Timer
      at = down
    }
    heap[at] = last
  }
}

function isBefore(one: Timer, other: Timer): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order)
}
