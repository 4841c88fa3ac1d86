import { card, plainFeature } from '../cards/cards.ts'
import type { Team, TwoTeams } from '../start/team.ts'
import { UNKNOWN } from './routes.ts'
import type { Row, Scenario } from './scenarios.ts'

const readCard = (version: string, ...names: string[]) =>
  card(names.map(plainFeature), { name: 'Ladder', version })

interface Strict {
  readonly slug: string
  /** Model of version 2.0, a shadow challenger with a feature of its own. */
  readonly entryId: string
  /** Model of version 3.0 with yet another feature, which is registered alone. */
  readonly modelId: string
}

/** A strict deployment, whose previous champion has a feature that the present one lacks. */
const strictly =
  (send: (team: Team, of: Strict) => ReturnType<Scenario>): Scenario =>
  async ({ team }: TwoTeams) => {
    const { slug } = await team.deploy(readCard('1.0', 'income', 'age'))
    const first = await team.challenge(slug, readCard('1.1', 'income'), 5)
    await team.promote(slug, first.id)
    await team.shadow(slug, true)
    const { id: entryId } = await team.challenge(slug, readCard('2.0', 'income', 'rent'), 5)
    const modelId = await team.register(readCard('3.0', 'income', 'years'))
    await team.done('PATCH', `/v1/deployments/${slug}`, { strict_mode: true })
    return send(team, { slug, entryId, modelId })
  }

const OUTCOME = '409 features_added'
const row = (send: (team: Team, of: Strict) => ReturnType<Scenario>): Record<string, Row> => ({
  [OUTCOME]: ['a strict deployment gets a feature', strictly(send)],
})

/** Refusals of changes that add features; they stand beside the other outcomes of each endpoint. */
const ADDED: Readonly<Record<string, Readonly<Record<string, Row>>>> = {
  'PATCH /v1/deployments/{slug}/traffic': row((team, { slug, modelId }) =>
    team.traffic(slug, { action: 'add_challenger', model_id: modelId, traffic_pct: 5 }),
  ),
  'POST /v1/deployments/{slug}/promote': row((team, { slug, entryId }) =>
    team.call('POST', `/v1/deployments/${slug}/promote`, { challenger_id: entryId }),
  ),
  'POST /v1/deployments/{slug}/rollback': row((team, { slug }) =>
    team.call('POST', `/v1/deployments/${slug}/rollback`, { reason: 'x' }),
  ),
  'POST /api/v1/scorecards/{scorecard_id}/challengers': row((team, { slug }) =>
    team.call('POST', `/api/v1/scorecards/${slug}/challengers`, {
      challenger_version: '3.0',
      mode: 'shadow',
      traffic_pct: 5,
    }),
  ),
  'POST /api/v1/scorecards/{scorecard_id}/promote': row((team, { slug }) =>
    team.call('POST', `/api/v1/scorecards/${slug}/promote`, { version: '2.0' }),
  ),
  'POST /api/v1/scorecards/{scorecard_id}/rollback': row((team, { slug }) =>
    team.call('POST', `/api/v1/scorecards/${slug}/rollback`),
  ),
}

export const FEATURE_OUTCOMES = Object.fromEntries(
  Object.keys(ADDED).map((endpoint) => [endpoint, [OUTCOME]]),
)

type Rows = Readonly<Record<string, Row | readonly Row[]>>

/** Adds the refusals of changes that add features. */
export function withAddedFeatures(
  scenarios: Readonly<Record<string, Rows>>,
): Readonly<Record<string, Rows>> {
  const added = Object.entries(ADDED).map(
    ([endpoint, rows]) => [endpoint, { ...scenarios[endpoint], ...rows }] as const,
  )
  return { ...scenarios, ...Object.fromEntries(added) }
}

const applicant = { income: 1 }

/** What an applicant must have, and trying one. */
export const APPLICANT_SCENARIOS: Readonly<Record<string, Readonly<Record<string, Row>>>> = {
  'GET /v1/score/{slug}/schema': {
    '200': ['a member asks', ({ team }, { slug }) => team.call('GET', `/v1/score/${slug}/schema`)],
    '304': [
      'the tag is known',
      ({ team }, { slug }) =>
        team.service.call({
          method: 'GET',
          url: `/v1/score/${slug}/schema`,
          token: team.key,
          headers: { 'if-none-match': '*' },
        }),
    ],
    '404 deployment_not_found': [
      'an unknown deployment',
      ({ team }) => team.call('GET', `/v1/score/${UNKNOWN.slug}/schema`),
    ],
  },
  'POST /v1/deployments/{slug}/trial': {
    '200': [
      'an applicant',
      ({ team }, { slug }) => team.call('POST', `/v1/deployments/${slug}/trial`, applicant),
    ],
    '422 strict_mode_violation': [
      'a missing feature in strict mode',
      ({ team }, { slug }) =>
        team.call('POST', `/v1/deployments/${slug}/trial`, { strict_mode: true }),
    ],
    '422 reasons_not_configured': [
      'reasons of a card without',
      ({ team }, { slug }) =>
        team.call('POST', `/v1/deployments/${slug}/trial?reasons=1`, applicant),
    ],
  },
}
