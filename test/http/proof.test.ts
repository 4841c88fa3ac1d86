import { describe, expect, test } from 'vitest'
import { sampleSpec } from '../support/cards/cards.ts'
import { findOutcome } from '../support/expect/answers.ts'
import { provenBy, scoreApart, verifyOffline } from '../support/expect/proofs.ts'
import { backends } from '../support/start/databases.ts'
import { TwoTeams } from '../support/start/team.ts'

describe.each(backends)('on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend)
  const { team } = teams

  const makeKey = async (of = team) => (await of.done('GET', '/v1/log/key')).key
  const checkpoint = (of = team) => of.done('GET', '/v1/log/checkpoint')

  test('a score is proved to someone who has the key alone', async () => {
    const { slug, modelId } = await team.deploy(sampleSpec())
    const [first = '', , third = ''] = await scoreApart(team, slug, 3)
    for (const requestId of [first, third]) {
      const proof = (await provenBy(team, requestId)).json()
      const checked = verifyOffline(proof, await makeKey())
      expect(checked.stderr).toBe('')
      expect(checked.isProved).toBe(true)
      const leaf = JSON.parse(Buffer.from(proof.leaf, 'base64').toString())
      const { records } = await team.done('GET', `/v1/scores/${requestId}`)
      const [result] = records[0].results
      expect(leaf).toMatchObject({ request_id: requestId, deployment_id: slug, record_index: 0 })
      expect(leaf.results[0]).toMatchObject({
        model_id: modelId,
        score: result.score,
        pd: result.pd,
        spec_sha256: result.spec_sha256,
      })
    }
  })

  test('each record of a batch is proved, and its ids and references are not in the leaf', async () => {
    const { slug } = await team.deploy(sampleSpec())
    const records = Array.from({ length: 5 }, (_, n) => ({ id: `application-${n}` }))
    const { request_id } = await team.scoreBatch(slug, records)
    expect((await team.call('GET', `/v1/scores/${request_id}/proof`)).statusCode).toBe(400)
    for (const record of [0, 4]) {
      const proof = (await provenBy(team, request_id, `?record=${record}`)).json()
      expect(verifyOffline(proof, await makeKey()).isProved).toBe(true)
      const leaf = Buffer.from(proof.leaf, 'base64').toString()
      expect(JSON.parse(leaf)).toMatchObject({ record_index: record, records: 5 })
      expect(leaf).not.toContain('application-')
    }
    const beyond = await provenBy(team, request_id, '?record=5')
    expect(findOutcome(beyond)).toBe('404 score_not_found')
  })

  // Whoever changes evidence must be found, wherever they change it.
  test('one flipped bit in leaf, path, root or note is found', async () => {
    const { slug } = await team.deploy(sampleSpec())
    const [id = ''] = await scoreApart(team, slug, 2)
    const proof = (await provenBy(team, id)).json()
    const key = await makeKey()
    const flipped = (text: string, coding: 'base64' | 'hex' | 'utf8', at: number) => {
      const bytes = Buffer.from(text, coding)
      bytes[at] = (bytes[at] ?? 0) ^ 1
      return bytes.toString(coding)
    }
    const [sibling = '', ...others] = proof.tree.path
    const changed = [
      { ...proof, leaf: flipped(proof.leaf, 'base64', 20) },
      { ...proof, tree: { ...proof.tree, path: [flipped(sibling, 'hex', 31), ...others] } },
      { ...proof, tree: { ...proof.tree, path: others } },
      { ...proof, tree: { ...proof.tree, index: proof.tree.index + 1 } },
      { ...proof, block: { ...proof.block, path: [...proof.block.path, sibling] } },
      { ...proof, checkpoint: flipped(proof.checkpoint, 'utf8', 12) },
      { ...proof, checkpoint: flipped(proof.checkpoint, 'utf8', proof.checkpoint.length - 12) },
      { ...proof, checkpoint: proof.checkpoint.replace(/\n\d+\n/, '\n1\n') },
    ]
    for (const [index, wrong] of changed.entries()) {
      expect(verifyOffline(wrong, key), `change ${index}`).toMatchObject({ isProved: false })
    }
    const another = key.replace(/.{4}=?$/, 'AAAA')
    expect(verifyOffline(proof, another).isProved).toBe(false)
  })

  test('two checkpoints are proved consistent, and a wrong pair is not', async () => {
    const { slug } = await team.deploy(sampleSpec())
    await scoreApart(team, slug, 1)
    const older = await checkpoint()
    await scoreApart(team, slug, 3)
    const newer = await checkpoint()
    expect(newer.size).toBe(older.size + 3)
    const url = `/v1/log/consistency?from=${older.size}&to=${newer.size}`
    const document = await team.done('GET', url)
    const key = await makeKey()
    const right = verifyOffline(document, key, older.checkpoint, newer.checkpoint)
    expect(right.stderr).toBe('')
    expect(right.isProved).toBe(true)
    const [first = '', ...rest] = document.path
    const path = [first.replace(/^./, (digit: string) => (digit === '0' ? '1' : '0')), ...rest]
    const wrong = verifyOffline({ ...document, path }, key, older.checkpoint, newer.checkpoint)
    expect(wrong.isProved).toBe(false)
    const beyond = await team.call('GET', `/v1/log/consistency?from=1&to=${newer.size + 1}`)
    expect(findOutcome(beyond)).toBe('400 invalid_request')
  })

  test('each team has a tree and a name of its own', async () => {
    const { slug } = await team.deploy(sampleSpec())
    const [id = ''] = await scoreApart(team, slug, 1)
    const others = await checkpoint(teams.otherTeam)
    expect(others).toMatchObject({ size: 0 })
    expect(others.origin).not.toBe((await checkpoint()).origin)
    const answer = await teams.otherTeam.call('GET', `/v1/scores/${id}/proof`)
    expect(findOutcome(answer)).toBe('404 score_not_found')
  })
})
