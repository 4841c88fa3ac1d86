import { expect, test } from 'vitest'
import type { OutcomeWrite, OutcomeWritten } from '../../../src/outcomes/held-items.ts'
import { ImportRun } from '../../../src/outcomes/import-run.ts'
import { countStatuses, type ReadItem } from '../../../src/outcomes/item.ts'
import { systemClock } from '../../../src/platform/clock.ts'

const MIB = 1024 * 1024
const NOTHING: OutcomeWritten = { statuses: [], holdings: [] }

async function readRounds(line: string, lines: number, isClosing = () => false) {
  const rounds: (readonly ReadItem[])[] = []
  let end: ReturnType<NonNullable<OutcomeWrite['progress']>> | undefined
  const parts = async function* () {
    const bytes = Buffer.from(`${line}\n`)
    for (let number = 0; number < lines; number++) {
      const offset = number * bytes.length
      yield { bytes, offset, endOffset: offset + bytes.length }
    }
  }
  const outcomes = {
    judge: async (_sender: unknown, read: readonly ReadItem[]) => {
      rounds.push(read)
      return read.map(({ fault }) => ({
        fact: null,
        held: null,
        status: 'invalid' as const,
        matchedOf: null,
        message: fault,
      }))
    },
  }
  const store = {
    write: async ({ progress }: OutcomeWrite) => {
      end = progress?.(NOTHING)
      return NOTHING
    },
  }
  const run = new ImportRun(
    {
      files: { parts } as never,
      imports: {} as never,
      outcomes,
      store,
      clock: systemClock,
      isClosing,
    },
    {
      id: 'imp_1',
      sender: { teamId: 'team_1', environment: null, by: 'usr_1' },
      format: 'ndjson',
      status: 'running',
      offset: 0,
      lines: 0,
      counts: countStatuses([]),
      errors: [],
    },
  )
  const how = await run.run()
  return { rounds, end, how }
}

test('a round of long lines ends at 8 MiB, and nothing of a faulty line is kept', async () => {
  // Each line becomes an object of 5,000 fields, several times as large as its text.
  const names = Array.from({ length: 5_000 }, (_, index) => `"f${index}":[]`)
  const line = `{"kind":"decision","decision":"approved",${names.join(',')}}`
  const { rounds, end } = await readRounds(line, 400)
  expect(rounds.length).toBe(Math.ceil((400 * line.length) / (8 * MIB)))
  for (const round of rounds) expect(round.length * line.length).toBeLessThan(8 * MIB + 64 * 1024)
  expect(new Set(rounds.flat().map((one) => JSON.stringify(one)))).toEqual(
    new Set(['{"item":null,"fault":"\\"f0\\" is not a field of a decision"}']),
  )
  expect(end).toMatchObject({ lines: 400, counts: { invalid: 400 } })
  expect(end?.errors[399]).toMatchObject({ line: 400 })
})

test('a round of short lines ends at 10,000', async () => {
  const { rounds } = await readRounds('{}', 20_001)
  expect(rounds.map(({ length }) => length)).toEqual([10_000, 10_000, 1])
})

// A round of a file takes seconds to store, and a process that ends has few.
test('an import stops between two steps when its process ends', async () => {
  let looks = 0
  const { end, how } = await readRounds('{}', 5_000, () => ++looks > 2)
  expect(how).toBe('stopped')
  expect(end).toMatchObject({ lines: 2_000 })
  expect((await readRounds('{}', 5_000)).how).toBe('done')
})

test('a round is matched while the one before is stored, and an error of either ends the run', async () => {
  const events: string[] = []
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  let judged = 0
  const outcomes = {
    judge: async (_sender: unknown, read: readonly ReadItem[]) => {
      events.push(`judge ${++judged}`)
      if (judged === 2) release()
      return read.map(({ fault }) => ({
        fact: null,
        held: null,
        status: 'invalid' as const,
        matchedOf: null,
        message: fault,
      }))
    },
  }
  const store = {
    write: async ({ progress }: OutcomeWrite): Promise<OutcomeWritten> => {
      // The first step waits for the second round to be matched.
      await held
      const step = progress?.(NOTHING)
      events.push(`store to ${step?.lines}`)
      if ((step?.lines ?? 0) > 10_000) throw new Error('the disk is full')
      return NOTHING
    },
  }
  const parts = async function* () {
    const bytes = Buffer.from('{}\n'.repeat(10_001))
    yield { bytes, offset: 0, endOffset: bytes.length }
  }
  const files = { parts } as never
  const run = new ImportRun(
    { files, imports: {} as never, outcomes, store, clock: systemClock, isClosing: () => false },
    {
      id: 'imp_1',
      sender: { teamId: 'team_1', environment: null, by: 'usr_1' },
      format: 'ndjson',
      status: 'running',
      offset: 0,
      lines: 0,
      counts: countStatuses([]),
      errors: [],
    },
  )
  await expect(run.run()).rejects.toThrow('the disk is full')
  expect(events.slice(0, 3)).toEqual(['judge 1', 'judge 2', 'store to 1000'])
  expect(events.at(-1)).toBe('store to 10001')
})
