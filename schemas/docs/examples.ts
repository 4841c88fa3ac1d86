/** Ids in the examples; replace them by your own to run an example. */
export const EXAMPLE_IDS = {
  deployment: 'dep_0VLGhxQzGkW2nRtYb4Xc8m',
  champion: 'mod_0VLGhxQw7PdLsK3vZq9Jf1',
  /** Version 2.0.0 of the champion's card, registered but not deployed. */
  candidate: 'mod_0VLGi2Nc5TyHr8BwUe6Vg4',
  challenger: 'ch_0VLGi5bRa3FkMx7CzEd2Wp',
  key: 'key_0VLGj1DmS9hQo4JuNt6Ya5',
  baseline: 'rbl_0VLGn5Vb1Zc8HgTx4JfUe7',
  user: 'usr_0VLGfZ8tXv2IbGy5RlPk7c',
  /** A member with the role `modeler`. */
  member: 'usr_0VLGm3XpNc6ViTs8EoRz1u',
  job: 'job_0VLGm5Tt4Kp8SgDb2XwNq7',
  import: 'imp_0VLGn5Rf3Sl0ZcXv6IkUg4',
  serviceAccount: 'svc_0VLGj7KwB3cVx9ZmQt5Ra1',
  session: 'fam_0VLGj8LxC4dWy0AnRu6Sb2',
  changeRequest: 'chg_0VLGo6Uc2Ad9IhSv5KgVf8',
  webhook: 'whk_0VLGo7Xb3Be0JiTw6LhWg9',
  event: 'evt_0VLGo8Yd4Cf1KjUx7MiXh0',
  delivery: 'dlv_0VLGo9Ze5Dg2LkVy8NjYi1',
  auditRecord: 'aud_0VLGm4Qe2Rk9YbWu5HjTf3',
} as const

export const SPEC_SHA256 = '6f1d0c1c7f0f4c2f9a4d4f5a1f6b6b1d5f9e6c0f8f4f7c8a1b2c3d4e5f607182'
export const EXAMPLE_REQUEST_ID = 'req_0VLGkC4wLq8OzTn3HsAj9e'
export const EXAMPLE_TIME = '2026-11-20T09:30:00.000Z'
export const EXAMPLE_PASSWORD = 'a long enough password'
export const EXAMPLE_REFRESH_TOKEN = 'q3Zp0…'

export const DEPLOYMENT_SLUG = {
  description: 'Slug of a deployment, which is its id',
  example: EXAMPLE_IDS.deployment,
} as const

export const SCORECARD_ID = {
  description: 'Id of a deployment',
  example: EXAMPLE_IDS.deployment,
} as const

/** A small card. The scoring examples show its scores. */
export const EXAMPLE_SPEC = {
  name: 'Consumer loans',
  version: '1.0.0',
  spec_version: '1.0',
  target: 'default_12m',
  base_points: 480,
  features: [
    {
      name: 'age',
      type: 'numeric',
      bins: [
        { range: '(-Infinity, 25]', points: -12 },
        { range: '(25, Infinity)', points: 9.5 },
        { range: 'Missing', points: 0 },
      ],
    },
    {
      name: 'purpose',
      type: 'categorical',
      bins: [
        { value: 'car%,%furniture, other', points: 4 },
        { value: 'Missing', points: -7 },
      ],
    },
  ],
  scaling: { base_score: 500, base_odds: 20, pdo: 20 },
  risk_grades: [
    { grade: 'A', min_score: 490, max_score: null },
    { grade: 'B', min_score: null, max_score: 490 },
  ],
} as const
