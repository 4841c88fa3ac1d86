import { newId } from '../../../src/platform/ids.ts'
import { formatJson } from '../expect/answers.ts'
import { readChanges } from '../start/changes.ts'
import { numberedSpec, type Team } from '../start/team.ts'
import { type Ids, UNKNOWN } from './routes.ts'

const CSV = { 'content-type': 'text/csv' }

/**
 * What a team has, one of each.
 *
 * @param name of its cards
 */
export async function readBelongings(team: Team, name: string): Promise<Ids> {
  const { service, owner } = team
  const { slug, modelId: model } = await team.deploy(numberedSpec(1, { name }))
  const challenger = numberedSpec(77, { name, version: 'theirs' })
  const entry = await team.challenge(slug, challenger, 5)
  const key = await team.done('POST', '/v1/keys', { name: 'theirs' })
  const password = 'a long password'
  const email = `${newId('usr_', 0)}@other.example`
  const member = await team.done('POST', '/v1/members', { email, password, role: 'viewer' })
  const { request_id } = await team.score(slug, {})
  const order = { name: 'theirs', role: 'viewer' }
  const account = await team.done('POST', '/v1/service-accounts', order)
  const login = { url: '/api/auth/login', body: { email: member.email, password } }
  const { access_token: token } = formatJson(await service.call(login))
  const own = { method: 'GET', url: '/api/auth/sessions', token } as const
  const session = formatJson(await service.call(own)).sessions[0].id
  const { id: job } = await team.done('POST', `/v1/deployments/${slug}/replays`, {})
  const file = async (url: string, body: string): Promise<string> =>
    formatJson(await service.call({ url, token: owner, body, headers: CSV })).id
  const made = {
    slug,
    model,
    import: await file('/v1/outcomes/imports', 'kind\n'),
    batch: await file(`/v1/batches/upload?deployment=${slug}`, 'income\n1\n'),
    definition: UNKNOWN.definition,
    key: key.id,
    member: member.id,
    request_id,
    account: account.id,
    session,
    job,
  }
  return { ...made, ...(await readChanges(team)), challenger: entry.id, version: entry.version }
}
