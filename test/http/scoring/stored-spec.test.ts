import { expect, test } from 'vitest'
import { card, plainFeature } from '../../support/cards/cards.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'

// The bounds of a request are not those of a document: PostgreSQL writes 1e9 with ten digits.
test.each(backends)(
  'on $name a spec that was accepted scores, however long its stored text',
  async (backend) => {
    const service = await TestService.start(backend)
    try {
      const names = Array.from({ length: 100_050 }, (_, n) => [n.toString(36).padStart(4, 'x'), 0])
      const spec = { ...card([plainFeature('income')]), unknown: Object.fromEntries(names) }
      const text = JSON.stringify(spec).replaceAll('":0', '":1e9')
      expect(text.length).toBeLessThan(1024 * 1024 * 1.2)
      const owner = await service.signIn()
      const deployed = await service.call({
        url: '/v1/models/deploy',
        token: owner,
        body: `{"environment":"production","auto_deploy":true,"spec":${text}}`,
      })
      // Refused with a reason, or kept and served; never accepted and then refused.
      expect(deployed.statusCode, deployed.body.slice(0, 300)).toBe(200)
      const { slug } = deployed.json().deployment
      const key = await service.createKey(owner)
      const scored = await service.call({
        url: `/v1/score/${slug}`,
        token: key,
        body: '{"income":1}',
      })
      expect(scored.statusCode, scored.body.slice(0, 300)).toBe(200)
    } finally {
      await service.close()
    }
  },
)
