import { expect, test } from 'vitest'
import { TRAFFIC_PCT_MAX, TRAFFIC_PCT_MIN } from '../../../schemas/deployments.ts'
import { IMPORT_TOOLS } from '../../../schemas/import.ts'
import { Explanation } from '../../../schemas/reasons.ts'
import { EventType } from '../../../schemas/webhooks.ts'
import { audits, deploys, manages, models, ROLE_NAMES } from '../../../src/console/app/api/roles.ts'
import { LISTED_BINS_MAX, SHARE_MAX, SHARE_MIN, TOOLS } from '../../../src/console/app/contract.ts'
import { SIGN_ON_FAULTS } from '../../../src/console/app/pages/sign-in/faults.ts'
import { EVENTS } from '../../../src/console/app/pages/webhooks/event-words.ts'
import {
  ANALYSTS,
  DEPLOYERS,
  MANAGER_OR_AUDITOR,
  OWNER_OR_ADMIN,
  ROLES,
} from '../../../src/http/access/caller.ts'
import { SIGN_ON_REFUSALS } from '../../../src/identity/auth/oidc/refusals.ts'

// The page can't load the schemas, so that it writes some of their facts a second time.
test('the console knows the roles of the service, in their order', () => {
  expect(Object.keys(ROLE_NAMES)).toEqual(ROLES)
})

test.each([
  ['manages', manages, OWNER_OR_ADMIN],
  ['audits', audits, MANAGER_OR_AUDITOR],
  ['deploys', deploys, DEPLOYERS],
  ['models', models, ANALYSTS],
] as const)('%s permits the roles that the service permits', (_, isPermitted, access) => {
  expect(ROLES.filter(isPermitted)).toEqual(access.by === 'user' ? access.roles : [])
})

test('the console takes the shares of a challenger that the service takes', () => {
  expect([SHARE_MIN, SHARE_MAX]).toEqual([TRAFFIC_PCT_MIN, TRAFFIC_PCT_MAX])
})

test('the console offers each tool whose cards the service imports', () => {
  expect(TOOLS).toEqual(IMPORT_TOOLS)
})

test('the console offers each type of event, but for that of tests', () => {
  const types = EventType.anyOf.map(({ const: type }) => type)
  const offered = EVENTS.flatMap(({ events }) => events.map(([type]) => type))
  expect([...offered, 'webhook.test'].toSorted()).toEqual(types.toSorted())
})

test('the console has a sentence for each reason of a refused sign-on', () => {
  const others = ['unavailable', 'not_found']
  expect(Object.keys(SIGN_ON_FAULTS)).toEqual([...Object.keys(SIGN_ON_REFUSALS), ...others])
})

test('the console names the bins up to which an explanation lists the others', () => {
  const { description } = Explanation.properties.sensitivity
  expect(description).toContain(`more than ${LISTED_BINS_MAX.toLocaleString('en')} bins`)
})
