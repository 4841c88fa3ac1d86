import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TokenResult } from '../../../schemas/auth.ts'
import { CreatedKey, ListedKey } from '../../../schemas/keys.ts'
import { Member } from '../../../schemas/members.ts'
import { newId } from '../../../src/platform/ids.ts'
import { auditLog } from '../../../src/tables/audit.ts'
import { expectConforming, expectSuccess, findOutcome } from '../../support/expect/answers.ts'
import { backends, type TestDatabase } from '../../support/start/databases.ts'
import {
  asOperator,
  findReason,
  formatJson,
  keeping,
  type Run,
} from '../../support/start/operator.ts'
import { withDatabase } from '../../support/start/seeded-database.ts'
import { TestService } from '../../support/start/service.ts'

const PASSWORD = 'correct horse battery'

const createTeam = async (run: Run, email: string) => {
  const owner = ['--owner-email', email, '--owner-password', PASSWORD]
  return formatJson(await run(['team', 'create', '--name', 'Loans', ...owner, '--json']))
}

describe.each(backends)('on $name', (backend) => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await backend.create()
  })
  afterAll(() => database.drop())

  const operate = <T>(work: (run: Run) => Promise<T>) => asOperator(database, work)
  async function serving<T>(work: (service: TestService) => Promise<T>): Promise<T> {
    const service = await TestService.start(keeping(backend.name, database))
    try {
      return await work(service)
    } finally {
      await service.close()
    }
  }
  const login = (service: TestService, email: string, password = PASSWORD) =>
    service.call({ url: '/api/auth/login', body: { email, password } })

  // An operator who sets up a customer has nothing but these commands.
  test('teams and users that were made are listed, and sign in with their roles', async () => {
    const odd = ' пароль $HOME "\\ '
    await operate(async (run) => {
      const team = await createTeam(run, ' Owner@First.Example')
      expectConforming(Member, team.owner)
      expect(team).toEqual({
        id: expect.stringMatching(/^team_\w{22}$/),
        name: 'Loans',
        created_at: expect.stringMatching(/^\d{4}-.*Z$/),
        owner: expect.objectContaining({ email: 'owner@first.example', role: 'owner' }),
      })
      const create = ['user', 'create', '--team', team.id, '--role', 'viewer', '--json']
      const viewer = ['--email', 'viewer@first.example', '--password', '-']
      const user = formatJson(await run([...create, ...viewer], odd))
      expectConforming(Member, user)

      const list = ['user', 'list', '--team', team.id]
      const { members } = formatJson(await run([...list, '--json']))
      expect(members).toHaveLength(2)
      expect(members).toEqual(expect.arrayContaining([user, team.owner]))
      const [header, ...rows] = (await run(list)).stdout.trimEnd().split('\n')
      expect(header).toMatch(/^ID +EMAIL +ROLE +CREATED$/)
      expect(rows.map((row) => row.split(/ +/))).toEqual(
        members.map((member: Record<string, string>) => [
          ...[member['id'], member['email'], member['role'], member['created_at']],
        ]),
      )
      const { owner: _owner, ...listed } = team
      expect(formatJson(await run(['team', 'list', '--json'])).teams).toContainEqual(listed)
      expect((await run(['team', 'list'])).stdout).toContain(`\n${team.id}  Loans`)
    })

    await serving(async (service) => {
      const create = async (email: string, password = PASSWORD) => {
        const session = expectSuccess(await login(service, email, password), TokenResult)
        const token = session.access_token
        return findOutcome(await service.call({ url: '/v1/keys', token, body: { name: 'k' } }))
      }
      expect(await create('owner@first.example')).toBe('201')
      expect(await create('viewer@first.example', odd)).toBe('403 insufficient_role')
    })
  })

  // A password is reset because somebody else may know it: what they opened with it must close.
  test('a reset password is the only one, and ends all sessions of its user alone', async () => {
    await operate(async (run) => {
      await createTeam(run, 'reset@lender.example')
      await createTeam(run, 'other@lender.example')
    })
    const emails = ['reset@lender.example', 'reset@lender.example', 'other@lender.example']
    const sessions = await serving(async (service) =>
      Promise.all(emails.map(async (email) => (await login(service, email)).json())),
    )
    const reset = ['user', 'reset-password', '--email', 'RESET@lender.example', '--password']
    const report = await operate((run) => run([...reset, 'another password']))
    expect(report).toMatchObject({ code: 0, stderr: '' })
    expect(report.stdout).toMatch(/^Set the password of usr_\w+ \(reset@lender\.example\) .*\.\n$/)
    await serving(async (service) => {
      const outcomes = []
      for (const { refresh_token } of sessions) {
        const call = { url: '/api/auth/refresh', body: { refresh_token } }
        outcomes.push(findOutcome(await service.call(call)))
      }
      const refused = '401 invalid_refresh_token'
      expect(outcomes).toEqual([refused, refused, '200'])
      const signIn = async (password: string) =>
        findOutcome(await login(service, 'reset@lender.example', password))
      expect(await signIn(PASSWORD)).toBe('401 invalid_credentials')
      expect(await signIn('another password')).toBe('200')
    })
  })

  // A stolen key must end even where nobody can sign in.
  test('keys are listed, given a quota and revoked', async () => {
    const team = await operate((run) => createTeam(run, 'keys@lender.example'))
    const [stays, goes] = await serving(async (service) => {
      const { access_token: token } = (await login(service, 'keys@lender.example')).json()
      const create = async (body: object) =>
        expectSuccess(await service.call({ url: '/v1/keys', token, body }), CreatedKey, 201)
      return [await create({ name: 'stays' }), await create({ name: 'goes', scopes: ['read'] })]
    })
    const list = ['key', 'list', '--team', team.id]
    await operate(async (run) => {
      const listed = async () => formatJson(await run([...list, '--json'])).keys
      const before = await listed()
      for (const key of before) expectConforming(ListedKey, key)
      const ids = before.map(({ id }: { id: string }) => id)
      expect(ids.sort()).toEqual([stays.id, goes.id].sort())

      const limit = ['key', 'set-limit', stays.id, '--per-minute']
      const limited = { id: stays.id, rate_limit_per_minute: 5 }
      expect(formatJson(await run([...limit, '5', '--json']))).toEqual(limited)
      const revoke = ['key', 'revoke', goes.id]
      expect(formatJson(await run([...revoke, '--json']))).toEqual({ id: goes.id })
      expect(findReason(await run(revoke))).toBe('There is no active key with this id.')
      expect(await listed()).toMatchObject([limited])

      const { stdout } = await run(list)
      const row = `${stays.id}  stays  ${stays.prefix}  score   both         5           -`
      expect(stdout).toMatch(
        /^ID +NAME +PREFIX +SCOPES +ENVIRONMENT +PER MINUTE +LAST USED +CREATED\n/,
      )
      expect(stdout.replaceAll(/ +/g, ' ')).toContain(row.replaceAll(/ +/g, ' '))
      expect(stdout).not.toContain(stays.key)
      expect((await run([...limit, 'default'])).stdout).toContain("the service's quota")
      expect((await listed())[0]).not.toHaveProperty('rate_limit_per_minute')
      expect(findReason(await run([...limit, '0']))).toMatch(/must be a whole number from 1 to/)
    })
    await serving(async (service) => {
      const score = async (token: string) =>
        findOutcome(await service.call({ url: '/v1/score/dep_none', token, body: {} }))
      expect(await score(stays.key)).toBe('404 deployment_not_found')
      expect(await score(goes.key)).toBe('401 invalid_api_key')
    })
  })

  test("a command that can't be carried out is refused with one sentence, and changes nothing", async () => {
    await operate(async (run) => {
      await createTeam(run, 'taken@lender.example')
      const team = await createTeam(run, 'refusals@lender.example')
      const teamsBefore = formatJson(await run(['team', 'list', '--json']))
      const order = { team: team.id, email: 'new@lender.example', password: PASSWORD }
      const create = (changes: object) => [
        ...['user', 'create', '--role', 'owner'],
        ...Object.entries({ ...order, ...changes }).flatMap(([name, text]) => [`--${name}`, text]),
      ]
      const reset = (email: string, password = PASSWORD) =>
        [
          ['user', 'reset-password'],
          ['--email', email],
          ['--password', password],
        ].flat()
      const newTeam = (name: string, email = 'new@lender.example', password = PASSWORD) => [
        ...['team', 'create', '--name', name],
        ...['--owner-email', email, '--owner-password', password],
      ]
      const unknown = { team: newId('team_', 0), key: newId('key_', 0) }
      const NO_TEAM = 'There is no team with this id.'
      const NO_KEY = 'There is no active key with this id.'
      const TAKEN = 'Another user has this email: use a different one.'
      const NO_EMAIL = 'Email must be an email address of at most 254 characters.'
      const NO_PASSWORD = 'Password must have 8 to 1024 characters.'
      const NO_NAME = 'The name must have 1 to 255 characters, not only white space.'
      const refusals: Array<[string[], string]> = [
        [create({ team: unknown.team }), NO_TEAM],
        [create({ team: "' or ''='" }), NO_TEAM],
        [create({ team: `${team.id}\0` }), NO_TEAM],
        [create({ team: '' }), NO_TEAM],
        [create({ email: 'Taken@lender.example' }), TAKEN],
        [create({ email: 'nobody' }), NO_EMAIL],
        [create({ email: 'new\0@lender.example' }), NO_EMAIL],
        [create({ email: `${'a'.repeat(250)}@b.cd` }), NO_EMAIL],
        [create({ password: '1234567' }), NO_PASSWORD],
        [create({ password: 'x'.repeat(1025) }), NO_PASSWORD],
        [
          create({ password: 'eight\0chars' }),
          'Password must be Unicode text without NUL characters.',
        ],
        [newTeam('Loans', 'taken@lender.example'), TAKEN],
        [newTeam('Loans', 'new@lender.example', 'short'), NO_PASSWORD],
        [newTeam(''), NO_NAME],
        [newTeam(' \t'), NO_NAME],
        [newTeam('a\0b'), NO_NAME],
        [newTeam('x'.repeat(256)), NO_NAME],
        [reset('new@lender.example'), 'There is no user with this email.'],
        [reset('new\0@lender.example'), NO_EMAIL],
        [reset('taken@lender.example', 'short'), NO_PASSWORD],
        [['user', 'list', '--team', team.owner.id], NO_TEAM],
        [['key', 'list', '--team', unknown.team], NO_TEAM],
        [['key', 'revoke', unknown.key], NO_KEY],
        [['key', 'revoke', `${unknown.key}\0`], NO_KEY],
        [['key', 'set-limit', unknown.key, '--per-minute', '5'], NO_KEY],
      ]
      for (const [args, reason] of refusals) {
        expect(findReason(await run(args)), args.join(' ')).toBe(reason)
      }
      expect(JSON.parse(findReason(await run([...create({ team: 'x' }), '--json'])))).toEqual({
        error: 'not_found',
        message: 'there is no team with this id',
      })
      expect(findReason(await run(create({ password: '-' }), 'short'))).toBe(NO_PASSWORD)

      const { members } = formatJson(await run(['user', 'list', '--team', team.id, '--json']))
      expect(members).toEqual([team.owner])
      expect(formatJson(await run(['team', 'list', '--json']))).toEqual(teamsBefore)
    })
  })

  // Who changed a customer's access, and when, must be found even where no user did it.
  test('each change has its audit record, with the operator as the actor and no password', async () => {
    const email = 'audited@lender.example'
    const { team, user } = await operate(async (run) => {
      const team = await createTeam(run, 'audit@lender.example')
      const order = ['--team', team.id, '--email', email, '--password', PASSWORD]
      const create = ['user', 'create', ...order, '--role', 'admin', '--json']
      const user = formatJson(await run(create))
      await run(create)
      await run(['user', 'reset-password', '--email', email, '--password', `${PASSWORD}!`])
      return { team, user }
    })
    const records = await withDatabase(database, (db) =>
      db.select().from(auditLog).where(sql`${auditLog.teamId} = ${team.id}`),
    )
    const id = expect.stringMatching(/^aud_/)
    const made = { id, position: expect.any(Number), createdAt: expect.any(Date) }
    const by = { ...made, teamId: team.id, actor: 'operator', before: null, reason: null }
    const owner = { email: 'audit@lender.example', role: 'owner' }
    expect(records).toHaveLength(4)
    expect(records).toEqual(
      expect.arrayContaining([
        { ...by, action: 'team.create', subject: team.id, after: { name: 'Loans' } },
        { ...by, action: 'member.create', subject: team.owner.id, after: owner },
        { ...by, action: 'member.create', subject: user.id, after: { email, role: 'admin' } },
        { ...by, action: 'member.reset_password', subject: user.id, after: null },
      ]),
    )
    expect(JSON.stringify(records)).not.toMatch(/argon|horse/)
  })

  // A name that a customer chose must not clear the operator's screen.
  test('names are printed without what moves a cursor, and written to JSON as they are', async () => {
    const name = '\u001b[2J世界\n'
    await operate(async (run) => {
      const owner = ['--owner-email', 'odd@lender.example', '--owner-password', PASSWORD]
      const { stdout } = await run(['team', 'create', '--name', name, ...owner])
      expect(stdout).toContain('"\\u{1b}[2J世界\\u{a}"')
      const { teams } = formatJson(await run(['team', 'list', '--json']))
      expect(teams).toContainEqual(expect.objectContaining({ name }))
    })
  })
})
