import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { LeaseStore } from '../../../../src/log/archive/lease.ts'
import { ArchiveLease, type Holding, LeaseLostError } from '../../../../src/log/archive/lease.ts'

/** Leases of processes that share a clock. */
class MemoryLeases implements Pick<LeaseStore, keyof LeaseStore> {
  private readonly held = new Map<string, string>()
  isAway = false

  async take({ name, holder }: Holding): Promise<boolean> {
    if (this.held.has(name)) return false
    this.held.set(name, holder)
    return true
  }

  async renew({ name, holder }: Holding): Promise<boolean> {
    if (this.isAway) throw new Error('the database is away')
    return this.held.get(name) === holder
  }

  async release({ name, holder }: Holding): Promise<void> {
    if (this.held.get(name) === holder) this.held.delete(name)
  }

  /** Another process takes a lease that has run out. */
  seize(name: string): void {
    this.held.set(name, 'another')
  }
}

let nowMs = 0
const clock = { monotonicMs: () => nowMs }
/** Timers run, and the clock with them. */
const pass = async (ms: number) => {
  for (let passed = 0; passed < ms; passed += 1_000) {
    nowMs += 1_000
    await vi.advanceTimersByTimeAsync(1_000)
  }
}

beforeEach(() => {
  vi.useFakeTimers()
  nowMs = 5_000
})
afterEach(() => {
  vi.useRealTimers()
})

test('a lease that is renewed stays', async () => {
  const lease = new ArchiveLease(new MemoryLeases(), clock)
  await lease.hold('log', async (held) => {
    await pass(600_000)
    held.check()
  })
  expect(await lease.hold('log', async () => 'worked')).toBe('worked')
})

// Another process can take it 60 seconds after the last renewal.
test('work stops when its lease was not renewed for 45 seconds', async () => {
  const leases = new MemoryLeases()
  const lease = new ArchiveLease(leases, clock)
  await lease.hold('log', async (held) => {
    await pass(15_000)
    leases.isAway = true
    await pass(45_000)
    held.check()
    await pass(1_000)
    expect(() => held.check()).toThrow(LeaseLostError)
  })
})

// Timers do not run in a process that stands still: it finds out by the clock alone.
test('a process that stood still notices it before it goes on', async () => {
  const lease = new ArchiveLease(new MemoryLeases(), clock)
  await lease.hold('2026-11-21', async (held) => {
    held.check()
    nowMs += 45_001
    expect(() => held.check()).toThrow(LeaseLostError)
  })
})

test('work stops when another process has its lease', async () => {
  const leases = new MemoryLeases()
  const lease = new ArchiveLease(leases, clock)
  await lease.hold('log', async (held) => {
    leases.seize('log')
    await pass(15_000)
    expect(() => held.check()).toThrow(LeaseLostError)
  })
  expect(await lease.hold('log', async () => 'worked')).toBe(null)
  expect(await lease.hold('2026-11-21', async () => 'worked')).toBe('worked')
})
