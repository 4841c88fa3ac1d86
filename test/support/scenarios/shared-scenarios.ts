import { expect } from 'vitest'
import { formatPath, type Ids, ROUTES, UNKNOWN, withIds } from './routes.ts'
import type { Row, Scenario } from './scenarios.ts'

/** Largest body that these scenarios are made for. */
export const BODY_BYTES_MAX = 32_768

/** Scenarios that follow from a row of the access table alone. */
export function sharedScenarios(row: string): Array<[outcome: string, ...Row]> {
  const { admitted, body } = ROUTES[row] ?? expect.fail(`${row} is not a route`)
  const { method, path } = formatPath(row)
  const isKeyed = admitted === 'score key'
  const send =
    (ids: Ids, text = body && JSON.stringify(body), headers = {}, by?: string | null): Scenario =>
    ({ team, service }, own) => {
      const named = { ...own, ...ids }
      const token = by === undefined ? (isKeyed ? team.key : team.owner) : by
      return service.call({
        method,
        url: withIds(path, named),
        headers,
        ...(token !== null && { token }),
        ...(text !== undefined && { body: withIds(text, named) }),
      })
    }
  const none = {} as Ids
  const rows: Array<[string, ...Row]> = []
  if (admitted !== 'anyone') {
    const refused = isKeyed ? '401 invalid_api_key' : '401 unauthorized'
    rows.push([refused, 'no credentials', send(none, undefined, {}, null)])
  }
  const isForRoles = Array.isArray(admitted) && !admitted.includes('viewer')
  const isForSenders =
    admitted === 'score key or deployer' || admitted === 'score key or file reader'
  if (isForRoles || isForSenders) {
    const byViewer: Scenario = (of, ids) =>
      send(none, undefined, {}, of.readToken('viewer'))(of, ids)
    rows.push(['403 insufficient_role', 'a viewer asks', byViewer])
  }
  const named = `${path} ${JSON.stringify(body)}`
  const MISSING: Array<[keyof Ids, string]> = [
    ['slug', '404 deployment_not_found'],
    ['model', '404 model_not_found'],
    ['key', '404 key_not_found'],
    ['member', '404 member_not_found'],
    ['account', '404 service_account_not_found'],
    ['session', '404 session_not_found'],
    ['version', '404 model_not_found'],
    ['request_id', '404 score_not_found'],
    ['import', '404 import_not_found'],
    ['change_request', '404 change_request_not_found'],
    ['webhook', '404 webhook_not_found'],
  ]
  for (const [name, outcome] of MISSING) {
    if (!named.includes(`<${name}>`)) continue
    const unknown = { [name]: UNKNOWN[name] } as Ids
    rows.push([outcome, `an unknown ${name}`, send(unknown)])
  }
  if (body !== undefined) {
    rows.push(['400 invalid_request', 'a body that is no JSON', send(none, '{')])
    const text = JSON.stringify(body)
    const large = text + ' '.repeat(BODY_BYTES_MAX * 5)
    rows.push(['413 payload_too_large', 'a body above the limit', send(none, large)])
    const xml = { 'content-type': 'application/xml' }
    rows.push(['415 unsupported_media_type', 'a body of XML', send(none, text, xml)])
  } else if (method === 'GET' && !path.includes('<')) {
    const wrong: Scenario = ({ team }) =>
      team.call('GET', `${path}${path.includes('?') ? '&' : '?'}limit=0`)
    if (path !== '/v1/access-review')
      rows.push(['400 invalid_request', 'a page of no items', wrong])
  }
  return rows
}
