import { describe, expect, test } from 'vitest'
import { COMMANDS } from '../../../src/admin/commands.ts'
import { commandHelp, programHelp, readCommandLine, UsageError } from '../../../src/admin/usage.ts'

const create = ['user', 'create', '--team', 't', '--email', 'e', '--password', 'p', '--role']

function refusalOf(args: readonly string[]): UsageError {
  try {
    readCommandLine(args, COMMANDS)
  } catch (error) {
    if (error instanceof UsageError) return error
    throw error
  }
  return expect.fail(`${args.join(' ')} was taken`)
}

describe('what the help tells', () => {
  // An operator in a hurry has the help and nothing else.
  test.each(COMMANDS)(
    '$name: its page has each option, its value, and the exit codes',
    (command) => {
      const page = commandHelp(command)
      for (const [option, { value, about }] of Object.entries(command.options)) {
        expect(page).toContain(`--${option} ${value}`)
        expect(about).not.toBe('')
      }
      if (command.operand !== undefined) expect(page).toContain(command.operand)
      for (const text of [
        command.name,
        '--json',
        '--help',
        'Exit code: 0 ',
        '1 refused',
        '2 wrong',
      ]) {
        expect(page).toContain(text)
      }
      if ('password' in command.options) expect(page).toContain('--password - < ')
      if ('role' in command.options)
        expect(page).toContain('owner, admin, lead_modeler, modeler, viewer')
    },
  )

  test('the page of the program has each command and the variables that name the database', () => {
    const page = programHelp(COMMANDS)
    for (const { name, summary } of COMMANDS) {
      expect(page).toContain(`  ${name} `)
      expect(page).toContain(summary)
    }
    for (const text of ['DATABASE_URL', 'DATA_DIR', '--json', '--help', 'Exit code']) {
      expect(page).toContain(text)
    }
  })

  test('no line of the help is wider than a terminal is', () => {
    const pages = [programHelp(COMMANDS), ...COMMANDS.map(commandHelp)]
    for (const line of pages.flatMap((page) => page.split('\n'))) {
      // The lines to copy are as long as the command is.
      if (!line.includes('npm run admin')) expect(line.length, line).toBeLessThanOrEqual(100)
    }
  })

  test.each([
    ['--help'],
    ['-h'],
    ['team', '--help'],
    ['nothing', 'known', '--help'],
    ['--json', '-h'],
  ])('%s %s %s asks for the help of the program', (...args) => {
    expect(readCommandLine(args.filter(Boolean), COMMANDS)).toEqual({ kind: 'help', command: null })
  })

  test.each(COMMANDS)('$name --help asks for its page, whatever else is missing', (command) => {
    const asked = readCommandLine([...command.name.split(' '), '--help'], COMMANDS)
    expect(asked).toEqual({ kind: 'help', command })
  })
})

describe('what a command line says', () => {
  test('a command is read with its options and its operand, in any order', () => {
    const command = COMMANDS.find(({ name }) => name === 'key set-limit')
    const values = { KEY_ID: 'key_1', 'per-minute': '5' }
    for (const args of [
      ['key', 'set-limit', 'key_1', '--per-minute', '5'],
      ['key', 'set-limit', '--per-minute=5', 'key_1', '--json'],
      ['--json', 'key', 'set-limit', '--per-minute', '5', '--', 'key_1'],
    ]) {
      expect(readCommandLine(args, COMMANDS)).toEqual({ kind: 'run', command, values })
    }
  })

  test('values are passed as they are: a dash, nothing, white space, other scripts', () => {
    for (const password of ['-', '', ' a b ', 'пароль "\\ $HOME']) {
      const args = ['user', 'reset-password', '--email', 'e', '--password', password]
      expect(readCommandLine(args, COMMANDS)).toMatchObject({ values: { password } })
    }
  })

  test.each<[string[], string]>([
    [[], 'no command is given'],
    [['--json'], 'no command is given'],
    [['team'], '"team" is no command'],
    [['team', 'destroy'], '"team destroy" is no command'],
    [['list', 'team'], '"list team" is no command'],
  ])('%j is no command, and the help of the program is named', (args, message) => {
    const error = refusalOf(args)
    expect(error.message).toBe(message)
    expect(error.help).toBe('npm run admin -- --help')
  })

  test.each<[string[], string]>([
    [['team', 'list', '--team', 'x'], "Unknown option '--team'"],
    [['team', 'list', 'x'], "Unexpected argument 'x'"],
    [['team', 'list', '--json=yes'], "'--json' does not take an argument"],
    [['user', 'list'], '--team TEAM_ID is missing'],
    [['user', 'list', '--team'], "'--team <value>' argument missing"],
    [['user', 'list', '--team', 'a', '--team', 'b'], '--team is given more than once'],
    [[...create, 'root'], '--role must be one of owner, admin, lead_modeler, modeler, viewer'],
    [[...create, 'OWNER'], '--role must be one of'],
    [[...create, ''], '--role must be one of'],
    [['key', 'revoke'], 'KEY_ID is missing'],
    [['key', 'revoke', 'a', 'b'], 'there is more than one KEY_ID'],
    [['key', 'set-limit', 'a'], '--per-minute N is missing'],
    [['key', 'set-limit', 'a', '--per-minute', '1.5'], '--per-minute must be a whole number'],
    [['key', 'set-limit', 'a', '--per-minute', '1e3'], '--per-minute must be a whole number'],
    [['key', 'set-limit', 'a', '--per-minute=-1'], '--per-minute must be a whole number'],
    [['key', 'set-limit', 'a', '--per-minute', ''], '--per-minute must be a whole number'],
    [['user', 'reset-password', '--email', 'e', '--password', '-x'], "use '--password=-XYZ'"],
  ])('%j is wrong usage, and the page of the command is named', (args, message) => {
    const error = refusalOf(args)
    expect(error.message).toContain(message)
    expect(error.message).not.toContain('\n')
    expect(error.help).toBe(`npm run admin -- ${args.slice(0, 2).join(' ')} --help`)
  })
})
