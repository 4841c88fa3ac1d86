import { expect, test } from 'vitest'
import {
  type Agreement,
  type ClaimMode,
  decide,
  type Lease,
  type OwnState,
} from '../../../../src/http/idempotency/score-claims/agreement.ts'

const MODES: readonly ClaimMode[] = ['slow', 'both', 'fast']
const MARKS = ['mark 1', 'mark 2']
const NEW_MARK = 'new mark'
const LEASES: readonly Lease[] = MODES.flatMap((mode) => MARKS.map((mark) => ({ mode, mark })))
const BOTH = [false, true]

/** Leases in force of two other processes; never slow beside fast, nor fast of two marks. */
const OTHERS: readonly (readonly Lease[])[] = [
  [],
  ...LEASES.map((lease) => [lease]),
  ...LEASES.flatMap((one) => LEASES.map((other) => [one, other])),
].filter((leases) => !conflict(leases))

function conflict(leases: readonly Lease[]): boolean {
  const fast = leases.filter(({ mode }) => mode === 'fast')
  const hasSlow = leases.some(({ mode }) => mode === 'slow')
  return (fast.length > 0 && hasSlow) || fast.some(({ mark }) => mark !== fast[0]?.mark)
}

function* listAgreements(): Generator<Agreement> {
  for (const mode of MODES) {
    for (const loader of ['own', 'other']) {
      for (const isLoaderAlive of BOTH) {
        for (const isKeptSlow of BOTH) {
          yield { mode, mark: 'mark 1', run: 'run 1', loader, isLoaderAlive, isKeptSlow }
        }
      }
    }
  }
}

function* listOwn(): Generator<OwnState> {
  const processId = 'own'
  for (const run of ['run 1', 'run 2', null]) {
    for (const lostMark of [null, 'mark 1']) {
      for (const lease of [null, ...LEASES]) {
        for (const isDrained of BOTH) {
          for (const loadedMark of [null, 'mark 1']) {
            yield { processId, run, lostMark, lease, isDrained, loadedMark, newMark: NEW_MARK }
          }
        }
      }
    }
  }
}

/** Every decision that can be asked for, of two marks and three processes. */
function forEachDecision(
  check: (
    decision: ReturnType<typeof decide>,
    asked: { agreed: Agreement; others: readonly Lease[]; own: OwnState },
  ) => string | null,
): void {
  const wrong: unknown[] = []
  for (const agreed of listAgreements()) {
    for (const others of OTHERS) {
      // What is agreed on holds for the leases: a fast one was given by it, or before it was left.
      if (agreed.mode === 'fast' && conflict([...others, { mode: 'fast', mark: agreed.mark }]))
        continue
      for (const own of listOwn()) {
        if (own.lease !== null && conflict([...others, own.lease])) continue
        if (agreed.mode === 'fast' && own.lease?.mode === 'slow') continue
        const found = check(decide(agreed, others, own), { agreed, others, own })
        if (found !== null && wrong.length < 3) wrong.push({ found, agreed, others, own })
      }
    }
  }
  expect(wrong).toEqual([])
}

test('a lease that is given never conflicts with the leases of others', () => {
  forEachDecision(({ lease }, { others }) =>
    lease !== null && conflict([...others, lease]) ? 'conflict' : null,
  )
})

test('a process that has fast scores in its spool gets no lease of another mode or mark', () => {
  forEachDecision(({ lease, endsLease }, { own }) => {
    if (own.lease?.mode !== 'fast' || own.isDrained) return null
    const isOther = lease !== null && (lease.mode === 'slow' || lease.mark !== own.lease.mark)
    return isOther || endsLease ? 'left undrained' : null
  })
})

test('keys are copied only while no other process claims them in the database alone', () => {
  forEachDecision(({ mayLoad }, { others }) =>
    mayLoad && others.some(({ mode }) => mode === 'slow') ? 'copied too soon' : null,
  )
})

test('the mode fast begins only with the process that has copied the keys of its mark', () => {
  forEachDecision(({ mode, mark }, { agreed, own }) => {
    if (mode !== 'fast' || agreed.mode === 'fast') return null
    return agreed.loader !== 'own' || own.loadedMark !== mark || own.run !== agreed.run
      ? 'fast'
      : null
  })
})

test('no process without the Redis of all gets a fast lease, and it makes the others slow', () => {
  forEachDecision(({ mode, lease, keepsSlow }, { agreed, own }) => {
    if (own.run === agreed.run && own.lostMark !== agreed.mark) return null
    if (lease?.mode === 'fast') return 'fast without keys'
    return agreed.mode === 'fast' && !(mode === 'slow' && keepsSlow) ? 'left fast' : null
  })
})

test('a process that has drained its scores waits for others without holding them up', () => {
  forEachDecision(({ mode, mark, lease, endsLease }, { own }) => {
    if (own.lease?.mode !== 'fast' || !own.isDrained || lease !== null) return null
    if (mode !== 'slow' && own.lease.mark === mark) return null
    return endsLease ? null : 'holds up'
  })
})
