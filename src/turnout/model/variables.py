"""Names the environment variables that no value from outside of a workflow may set."""

from __future__ import annotations

import re

VARIABLE = r"[A-Za-z_][A-Za-z0-9_]{0,127}"
_VARIABLE = re.compile(VARIABLE)

# fmt: off
REFUSED_VARIABLES = frozenset({
    # the search for programs, and the start of shells
    "PATH", "IFS", "ENV", "BASH_ENV", "SHELL", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "CDPATH",
    "GLOBIGNORE", "ZDOTDIR", "FPATH", "HOME",
    # what interpreters load or run before the program
    "NODE_OPTIONS", "NODE_PATH", "RUBYOPT", "RUBYLIB", "GEM_HOME", "GEM_PATH", "BUNDLE_GEMFILE", "PERL5OPT",
    "PERL5LIB", "PERLLIB", "PERL5DB", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH",
    "LUA_INIT", "LUA_PATH", "LUA_CPATH", "PHPRC", "PHP_INI_SCAN_DIR", "R_PROFILE", "R_PROFILE_USER", "R_ENVIRON",
    "R_ENVIRON_USER",
    # programs that other programs start
    "EDITOR", "VISUAL", "PAGER", "BROWSER", "LESSOPEN", "LESSCLOSE", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND", "GIT_ASKPASS", "GIT_EDITOR", "GIT_PAGER", "GIT_TEMPLATE_DIR",
    "SSH_ASKPASS", "SUDO_ASKPASS",
    # what the C library and OpenSSL load
    "GCONV_PATH", "LOCPATH", "NLSPATH", "GLIBC_TUNABLES", "HOSTALIASES", "RESOLV_HOST_CONF", "OPENSSL_CONF",
    "OPENSSL_MODULES", "OPENSSL_ENGINES", "SSLKEYLOGFILE",
})
# fmt: on
"""Variables that change how programs start."""
REFUSED_PREFIXES = ("LD_", "DYLD_", "PYTHON", "BASH_FUNC_", "GIT_CONFIG", "MALLOC_", "TURNOUT_", "DAG_", "DAGU_")
"""The beginnings of further ones, and of those that the run itself sets."""


def is_variable(name: str) -> bool:
    return _VARIABLE.fullmatch(name) is not None


def refused_variable(name: str) -> bool:
    """True if no parameter, output or secret may have this name: it would change how programs start."""
    return name in REFUSED_VARIABLES or name.startswith(REFUSED_PREFIXES)
