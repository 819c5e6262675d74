import { describe, expect, it } from 'vitest'
import { webhookUrl } from '../../src/app/remote/webhook.js'

const REFUSED = {
  'this machine': ['127.0.0.1', '127.255.255.255', '[::1]', '0.0.0.0', '[::]'],
  'private networks': ['10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.0.1', '[fc00::1]', '[fdff::1]'],
  links: ['169.254.1.1', '[fe80::1]'],
  'networks of providers': ['100.64.0.1', '100.127.255.255'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1', '[2001:db8::1]', '[3fff::1]', '[3fff:fff:ffff::1]'],
  benchmarks: ['198.18.0.1', '198.19.255.255', '[2001:2::1]'],
  'multicast and reserved addresses': ['224.0.0.1', '240.0.0.1', '255.255.255.255', '192.0.0.8', '[ff02::1]'],
  'transition to IPv6': ['192.88.99.1', '[2002:a00:1::1]', '[2001::1]', '[2001:0:ffff::1]', '[64:ff9b::808:808]'],
  'IPv4 in IPv6': ['[::ffff:127.0.0.1]', '[::ffff:8.8.8.8]', '[::7f00:1]'],
  'what is no global unicast': ['[100::1]', '[1fff::1]', '[4000::1]', '[5f00::1]', '[fec0::1]'],
}

const TAKEN = ['8.8.8.8', '100.63.255.255', '172.32.0.1', '192.88.98.1', '198.20.0.1', '223.255.255.255']
const TAKEN_6 = ['[2000::1]', '[2001:200::1]', '[2001:4860:4860::8888]', '[2003::1]', '[2a00::1]', '[3ffe:ffff::1]']

const urlOf = (host: string, allowPrivate = false): URL =>
  webhookUrl('webhook', `https://${host}/hook`, { allowPrivate })

describe('a webhook', () => {
  it.each(Object.entries(REFUSED))('does not go to %s, unless that is allowed', (_kind, hosts) => {
    for (const host of hosts) {
      expect(() => urlOf(host), host).toThrow('is not a public address')
      expect(urlOf(host, true).pathname).toBe('/hook')
    }
  })

  it('goes to public addresses', () => {
    for (const host of [...TAKEN, ...TAKEN_6, 'example.com']) expect(urlOf(host).pathname).toBe('/hook')
  })
})
