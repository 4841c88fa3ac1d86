import { DrizzleQueryError } from 'drizzle-orm/errors'
import { expect, test } from 'vitest'
import { makeReport } from '../../../src/cli/admin.ts'
import type { CliServices } from '../../../src/cli/services.ts'

const call = 'scoreline admin'
const readSecret = async () => ''

// The text of a failed statement holds its parameters: addresses, and the hash of a password.
test.each([[[]], [['--json']]])(
  'the reason of an unexpected failure is its cause, without statement or parameters: %j',
  async (flags) => {
    const cause = new Error('could not extend file: No space left on device.')
    const open = async () => {
      throw new DrizzleQueryError('insert into users …', ['jane@lender.example', 'hash'], cause)
    }
    const report = await makeReport(['team', 'list', ...flags], { call, open, readSecret })
    expect(report).toMatchObject({ code: 1, stdout: '' })
    expect(report.stderr).toMatch(
      /statement failed: could not extend file: No space left on device/,
    )
    expect(report.stderr).not.toMatch(/jane|hash|insert|\n./)
  },
)

// What stays open would keep the process, or the lock on the embedded database.
test('the database is closed after a command that fails, and not opened for wrong usage', async () => {
  const calls: string[] = []
  const teams = { list: async () => Promise.reject(new Error('it broke')) }
  // Only what this command calls.
  const services = { teams, close: async () => void calls.push('close') } as unknown
  const open = async () => {
    calls.push('open')
    return services as CliServices
  }
  const report = await makeReport(['team', 'list'], { call, open, readSecret })
  expect(report).toEqual({ code: 1, stdout: '', stderr: 'It broke.\n' })
  expect(calls).toEqual(['open', 'close'])
  expect((await makeReport(['team', 'burn'], { call, open, readSecret })).code).toBe(2)
  expect((await makeReport(['--help'], { call, open, readSecret })).code).toBe(0)
  expect(calls).toEqual(['open', 'close'])
})
