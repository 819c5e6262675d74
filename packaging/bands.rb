# The formula for a tap, such as bands-dev/homebrew-tap. A release fills in the version and the SHA-256 of its package.
class Bands < Formula
  desc "When did a stock change band, and what did the price do next?"
  homepage "https://github.com/bands-dev/bands"
  url "https://registry.npmjs.org/bands/-/bands-@VERSION@.tgz"
  sha256 "@SHA256@"
  license "MIT"

  depends_on "node"

  def install
    system "npm", "install", *std_npm_args
    bin.install_symlink libexec.glob("bin/*")
    man1.install_symlink (libexec/"lib/node_modules/bands/dist/man").glob("*.1")
    generate_completions_from_executable(bin/"bands", "completion")
  end

  test do
    assert_match "rsi_zone", shell_output("#{bin}/bands now AAPL")
  end
end
