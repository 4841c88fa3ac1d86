import { describe, expect, test } from 'vitest'
import { adminProgram } from '../../../src/cli/admin.ts'
import { COMMANDS } from '../../../src/cli/admin-commands.ts'
import { readArguments, UsageError } from '../../../src/cli/arguments.ts'

const CALL = 'scoreline admin'
const create = ['user', 'create', '--team', 't', '--email', 'e', '--password', 'p', '--role']

const read = (args: readonly string[]) => readArguments(adminProgram(CALL), args)

function formatRefusal(args: readonly string[]): UsageError {
  try {
    read(args)
  } catch (error) {
    if (error instanceof UsageError) return error
    throw error
  }
  return expect.fail(`${args.join(' ')} was accepted`)
}

function makePage(...args: string[]): string {
  const request = read([...args, '--help'])
  return request.kind === 'help' ? request.text : expect.fail('there is no page')
}

/** The arguments as the program understands them. */
function readRun(args: readonly string[]) {
  const request = read(args)
  if (request.kind === 'help') return expect.fail('the arguments ask for help')
  const { command, values } = request
  return { name: `${command.parent?.name()} ${command.name()}`, values: Object.fromEntries(values) }
}

describe('the help', () => {
  // An operator in a hurry has the help and nothing else.
  test.each(COMMANDS)('of $name has each option, its value, and the exit codes', (command) => {
    const page = makePage(...command.name.split(' '))
    for (const { flags, description } of command.options) {
      expect(page).toContain(`  ${flags} `)
      expect(page.replaceAll(/\s+/g, ' ')).toContain(description)
    }
    if (command.operand !== undefined) expect(page).toContain(` ${command.operand.name} `)
    for (const text of [command.name, '--json', '--help', 'Exit code: 0 ', '1 ref', '2 wrong']) {
      expect(page).toContain(text)
    }
    const names = command.options.map(({ long }) => long)
    if (names.includes('--password')) expect(page).toContain('--password - < ')
    if (names.includes('--role')) expect(page).toContain('owner, admin, lead_modeler, modeler')
  })

  test('of the program has each command and the variables that name the database', () => {
    const page = makePage()
    for (const { name, summary } of COMMANDS) {
      expect(page).toContain(`  ${name} `)
      expect(page).toContain(summary)
    }
    for (const text of ['DATABASE_URL', 'DATA_DIR', '--json', '--help', 'Exit code']) {
      expect(page).toContain(text)
    }
  })

  test('has no line that is wider than a terminal', () => {
    const pages = [makePage(), ...COMMANDS.map(({ name }) => makePage(...name.split(' ')))]
    for (const line of pages.flatMap((page) => page.split('\n'))) {
      // The lines to copy are as long as the command is.
      if (!line.includes(CALL)) expect(line.length, line).toBeLessThanOrEqual(100)
    }
  })

  test.each([['--help'], ['-h'], ['nothing', 'known', '--help'], ['--json', '-h']])(
    'of the program is what %s %s %s asks for',
    (...args) => {
      expect(read(args.filter(Boolean))).toEqual({ kind: 'help', text: makePage() })
    },
  )

  test('of a group lists its commands alone', () => {
    expect(makePage('team')).toContain('  team create ')
    expect(makePage('team')).not.toContain('  user create ')
  })
})

describe('a command line', () => {
  test('is read with its options and its operand, in any order', () => {
    const values = { KEY_ID: 'key_1', 'per-minute': '5' }
    for (const args of [
      ['key', 'set-limit', 'key_1', '--per-minute', '5'],
      ['key', 'set-limit', '--per-minute=5', 'key_1', '--json'],
      ['--json', 'key', 'set-limit', '--per-minute', '5', '--', 'key_1'],
    ]) {
      expect(readRun(args)).toMatchObject({ name: 'key set-limit', values })
    }
  })

  test('passes values as they are: a dash, an empty text, white space, other scripts', () => {
    for (const password of ['-', '', ' a b ', 'пароль "\\ $HOME']) {
      const args = ['user', 'reset-password', '--email', 'e', '--password', password]
      expect(readRun(args).values).toMatchObject({ password })
    }
    const dashed = ['user', 'reset-password', '--email', 'e', '--password=-x']
    expect(readRun(dashed).values).toMatchObject({ password: '-x' })
  })

  test.each<[string[], string, string]>([
    [[], 'no command is given', ''],
    [['--json'], 'no command is given', ''],
    [['team'], 'no command is given', ' team'],
    [['team', 'destroy'], "unknown command 'destroy'", ' team'],
    [['list', 'team'], "unknown command 'list'", ''],
  ])('%j has no command, and the refusal names the help', (args, message, group) => {
    const error = formatRefusal(args)
    expect(error.message).toBe(message)
    expect(error.help).toBe(`scoreline admin${group} --help`)
  })

  test.each<[string[], string]>([
    [['team', 'list', '--team', 'x'], "unknown option '--team'"],
    [['team', 'list', 'x'], 'too many arguments'],
    [['team', 'list', '--json=yes'], '--json does not take a value'],
    [['user', 'list'], "required option '--team <TEAM_ID>' not specified"],
    [['user', 'list', '--team'], "option '--team <TEAM_ID>' argument missing"],
    [['user', 'list', '--team', 'a', '--team', 'b'], '--team is given more than once'],
    [
      [...create, 'root'],
      '--role must be one of owner, admin, lead_modeler, modeler, auditor, viewer',
    ],
    [[...create, 'OWNER'], '--role must be one of'],
    [[...create, ''], '--role must be one of'],
    [['key', 'revoke'], "missing required argument 'KEY_ID'"],
    [['key', 'revoke', 'a', 'b'], 'too many arguments'],
    [['key', 'set-limit', 'a'], "required option '--per-minute <N>' not specified"],
    [['key', 'set-limit', 'a', '--per-minute', '1.5'], '--per-minute must be a whole number'],
    [['key', 'set-limit', 'a', '--per-minute', '1e3'], '--per-minute must be a whole number'],
    [['key', 'set-limit', 'a', '--per-minute=-1'], '--per-minute must be a whole number'],
    [['key', 'set-limit', 'a', '--per-minute', ''], '--per-minute must be a whole number'],
    [['user', 'reset-password', '--email', 'e', '--password', '-x'], 'write --password=-x for'],
    [['user', 'reset-password', '--email', 'e', '--password', '--json'], '--password has no value'],
  ])('%j is wrong usage, and the refusal names the help of the command', (args, message) => {
    const error = formatRefusal(args)
    expect(error.message).toContain(message)
    expect(error.message).not.toContain('\n')
    expect(error.help).toBe(`scoreline admin ${args.slice(0, 2).join(' ')} --help`)
  })

  // A password with a typing error in its option must not stand in a log of standard error.
  test('is refused without the value of an unknown option', () => {
    const { message } = formatRefusal(['user', 'list', '--team', 't', '--pasword=hidden'])
    expect(message).toBe("unknown option '--pasword'")
  })
})
